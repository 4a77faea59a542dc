"""report_test.py HCASIM SOURCE CASE: the page of a study, opened in a browser without a network: its numbers are those
of the results file, whatever was drawn can be seen, and what is no results file gives no page."""

import html
import json
import re
import sqlite3
import subprocess
import zlib

from program import PROGRAM, SCRATCH, expect, main, payload, refused

DONE, REFUSED = 0, 2


def swept(text):
    (SCRATCH / "base.toml").write_text("[scenario]\nmessage = 4096\n")
    payload(400_000)
    (SCRATCH / "study.toml").write_text('base = "base.toml"\npayload = "payload"\n' + text)
    ran = subprocess.run([PROGRAM, "sweep", SCRATCH / "study.toml", "--output", SCRATCH / "r.sqlite"],
                         capture_output=True, text=True, timeout=250, check=False)
    expect(ran.returncode in (0, 1), f"{ran.stdout}{ran.stderr}")
    return ran.stdout


def report(*arguments, status=DONE, results="r.sqlite"):
    ran = subprocess.run([PROGRAM, "report", SCRATCH / results, "--output", SCRATCH / "r.html", *arguments],
                         capture_output=True, text=True, timeout=100, check=False)
    expect(ran.returncode == status, f"status {ran.returncode}, not {status}\n{ran.stdout}{ran.stderr}")
    return ran


def browser(*arguments, page="r.html"):
    """Without a network: every address but that of the file leads nowhere."""
    profile = SCRATCH / "profile"
    ran = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                          f"--user-data-dir={profile}", "--proxy-server=127.0.0.1:9", "--enable-logging=stderr",
                          "--virtual-time-budget=5000", *arguments, (SCRATCH / page).as_uri()], capture_output=True,
                         timeout=200, check=False)
    subprocess.run(["rm", "-rf", profile], check=True)
    errors = [line for line in ran.stderr.decode(errors="replace").splitlines() if "CONSOLE" in line]
    expect(ran.returncode == 0 and not errors, f"status {ran.returncode}: {errors}")
    return ran.stdout.decode()


STUDY = """
question = "Is <it> the latency & nothing else?"
repetitions = 2
objectives = ["rate", "time"]
[set]
link.loss = 0.02
[[axes]]
key = "scenario.qps"
values = [1, 4]
[[axes]]
key = "link.latency_ns"
log = { from = 100, to = 10000, points = 3 }
[[axes]]
key = "hca.log_max_qp"
values = [4, 16]
[[metrics]]
name = "rate"
value = "transfers[WRITE A -> B].rate_bytes_per_second"
scale = 8e-9
unit = "Gbit/s"
plot = "rates"
[[metrics]]
name = "time"
value = "sim_time_ns"
scale = 1e-3
unit = "us"
"""


def numbers_of_the_page_are_those_of_the_results():
    said = swept(STUDY)
    ran = report()
    expect("24 points in" in ran.stdout, ran.stdout)
    shown = browser("--dump-dom")
    expect('data-ready="true"' in shown, "the script has not come to its end")
    text = (SCRATCH / "r.html").read_text()
    for word in ("src=", "href=", "@import", "url(http", "fetch(", "XMLHttpRequest("):
        outside = re.sub(r"<script>!function.*?</script>", "", text, flags=re.S) # d3 has functions that nobody calls
        expect(word not in outside, f"{word} in the page")
    with sqlite3.connect(SCRATCH / "r.sqlite") as database:
        for number, status, digest in database.execute("SELECT number, status, event_digest FROM point"):
            row = re.search(rf'<tr data-point="{number}".*?</tr>', shown, re.S)[0]
            values = [float(value) for value in re.findall(r'data-value="([^"]+)"', row)]
            wanted = [database.execute("SELECT value FROM metric WHERE point = ? AND name = ?", (number, name))
                      .fetchone()[0] for name in ("rate", "time")]
            expect(values == wanted, f"point {number}: {values}, not {wanted}")
            expect(status in row and digest in row and f"scenario.qps=" in row, row)
        means = {}
        for own, value in database.execute("SELECT own, value FROM point JOIN metric ON point = number "
                                           "WHERE name = 'rate'"):
            means.setdefault(own, []).append(value)
    # The plot's own table: mean and half of the interval of two values, whose quantile of Student's t is 12.7062.
    figures = re.findall(r"<figure>(.*?)</figure>", shown, re.S)
    figure = [one for one in figures if "rate, Gbit/s along scenario.qps" in one][0]
    places = {(series, word): (float(mean), float(half)) for series, word, mean, half in
              re.findall(r"<td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td>", figure)}
    expect(len(places) == len(means) == 12 and any(half > 0 for _, half in places.values()), places)
    for own, (first, second) in means.items():
        qps, *others = own.splitlines()
        mean, half = places[" ".join(others), qps.split("=")[1]]
        expect(abs(mean - (first + second) / 2) <= 1e-3 * mean, f"{own}: {mean} is not the mean of {first}, {second}")
        wanted = 12.7062 * abs(first - second) / 2
        expect(abs(half - wanted) <= 1e-3 * wanted, f"{own}: {half} is no interval of {first}, {second}")
    sentences = [html.unescape(s) for s in re.findall(r"<li>(.*?)</li>", shown)]
    expect(len(sentences) >= 4 and all(s in said for s in sentences), f"{sentences}\n{said}")
    expect(f"<h1 id=\"question\">Is &lt;it&gt; the latency &amp; nothing else?</h1>" in shown, "another question")
    expect("24 of 24 points are done" in shown and re.search(r"SHA-256 [0-9a-f]{64}\.", shown), "another state")
    for section in ("curves", "shared", "effects", "heat", "pareto", "bottlenecks", "one", "table"):
        part = re.search(rf'<section id="{section}"(.*?)</section>', shown, re.S)[1]
        expect("display: none" not in part.split(">")[0] and ("<svg" in part or section == "table"), f"no {section}")
    # The point that is shown has the loads of a run by its command.
    command = html.unescape(re.search(r'<pre class="command">(.*?)</pre>', shown)[1])
    in_the_table = f'<code class="command">{html.escape(command, quote=False)}</code>'
    expect(in_the_table in shown, f"{command} is not in the table")
    again = subprocess.run(["sh", "-c", command.replace("hcasim", PROGRAM, 1) + f" -q --json {SCRATCH}/again.json"],
                           capture_output=True, timeout=100, check=False)
    expect(again.returncode == 0, f"{command}: {again.stderr}")
    result = json.loads((SCRATCH / "again.json").read_text())
    for card in ("hca", "gpu"):
        loads = [r for r in result["resources"] if r["device"] == f"A.{card}"]
        busiest = max(loads, key=lambda r: r["load"])
        title = re.search(rf"<title>A.root.switch.{card}: (.*?) ([-0-9.e+]+) %</title>", shown)
        expect(title and abs(float(title[2]) - busiest["load"] * 100) <= 1e-3 * float(title[2]) + 1e-9,
               f"{card}: {title and title[0]}, not {busiest}")
    expect(shown.count('class="load"') >= 4, "no loads in the picture")


def pixels(path):
    """Of an 8 bit RGB or RGBA PNG: width, height, and how many different bytes there are."""
    data = path.read_bytes()
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    at, packed = 8, b""
    while at < len(data):
        length, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
        packed += data[at + 8:at + 8 + length] if kind == b"IDAT" else b""
        at += length + 12
    return width, height, len(set(zlib.decompress(packed)))


def a_page_is_drawn_and_printed():
    swept(STUDY.replace("repetitions = 2", "repetitions = 1"))
    report()
    shot, printed = SCRATCH / "r.png", SCRATCH / "r.pdf"
    browser("--window-size=1200,3000", f"--screenshot={shot}")
    width, height, tones = pixels(shot)
    expect((width, height) == (1200, 3000) and tones > 100, f"{width} x {height}, {tones} tones")
    browser(f"--print-to-pdf={printed}")
    pages = len(re.findall(rb"/Type\s*/Page\b", printed.read_bytes()))
    expect(2 <= pages <= 20, f"{pages} printed pages")
    shown = browser("--dump-dom")
    for i, dash in enumerate(("8 4", "2 3")): # a line beside the first is told apart by its dashes
        expect(f"stroke-dasharray: {dash.replace(' ', ', ')}" in shown or f"stroke-dasharray: {dash}" in shown,
               f"series {i + 1} has no dashes")
    expect(shown.count("<pattern") > 1, "stacks have no hatching")


def a_hostile_study_is_shown_as_it_is_written():
    swept(STUDY.replace("Is <it>", "</script><script>alert(1)</script><!--<script> @d3@"))
    report()
    shown = re.sub(r'<script type="application/json".*?</script>', "", browser("--dump-dom"), flags=re.S)
    expect('data-ready="true"' in shown and "<script>alert" not in shown, "a text of the study has become a script")
    expect("&lt;/script&gt;&lt;script&gt;alert(1)" in shown, "the question is not there")


def what_is_no_result_gives_no_page():
    page = SCRATCH / "r.html"
    page.write_text("of before")
    for name, content in (("text", b"some text\n" * 200), ("empty", b"")):
        (SCRATCH / name).write_bytes(content)
        refused(report(status=REFUSED, results=name), "as `hcasim sweep STUDY.toml` writes it")
    refused(report(status=REFUSED, results="missing"), "No such file")
    swept('[[axes]]\nkey = "scenario.qps"\nvalues = [1]\n[[metrics]]\nvalue = "sim_time_ns"\n')
    same = subprocess.run([PROGRAM, "report", SCRATCH / "r.sqlite", "-o", SCRATCH / "r.sqlite"], capture_output=True,
                          text=True, timeout=60, check=False)
    refused(same, "is the same file as")
    other = SCRATCH / "other.sqlite"
    other.write_bytes((SCRATCH / "r.sqlite").read_bytes())
    over = subprocess.run([PROGRAM, "report", SCRATCH / "r.sqlite", "-o", other], capture_output=True, text=True,
                          timeout=60, check=False)
    refused(over, "holds results of `hcasim sweep`", "name another file")
    expect(other.read_bytes() == (SCRATCH / "r.sqlite").read_bytes(), "other results were overwritten")
    for own, reason in (("", "0 axes"), ("scenario.qps=2\nscenario.qps=1", "twice"), ("scenario.qps=many", "no value"),
                        ("scenario.mtu=256", "no axis")):
        with sqlite3.connect(SCRATCH / "r.sqlite") as database:
            database.execute("UPDATE point SET own = ?", (own,))
        database.close()
        refused(report(status=REFUSED), "is damaged: point 0 is none of its study", reason)
    with sqlite3.connect(SCRATCH / "r.sqlite") as database:
        database.execute("UPDATE point SET own = 'scenario.qps=1'")
        database.execute("UPDATE point SET result = x'28b52ffd00'")
    database.close()
    refused(report(status=REFUSED), "is damaged")
    with sqlite3.connect(SCRATCH / "r.sqlite") as database:
        database.execute("PRAGMA user_version = 9")
    database.close()
    refused(report(status=REFUSED), "has format 9")
    expect(page.read_text() == "of before", "a page was overwritten")


main(globals())
