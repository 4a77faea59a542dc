"""The scenario kv as a person runs it: GETs by each way, values that change while they are read, what is refused."""

import itertools

from program import SOURCE, expect, main, refused, result, run

STORE = SOURCE / "platform/configs/kv.toml"
QUICK = ("kv.warm_up=0", "kv.operations=1000", "kv.keys=64")


def store(*sets, status=0, is_checked=False):
    """The JSON of a run with keys set."""
    return result(*itertools.chain.from_iterable(("--set", one) for one in sets), config=STORE, status=status,
                  is_checked=is_checked)


def rows(got):
    return {one["name"]: one for one in got["operations"]}


def values_come_by_each_way():
    for way, puts, sizes in itertools.product(("read", "send", "write"), (0, 0.5, 1), ("1", "64 B..2 KiB")):
        got = store(f"kv.by={way}", f"kv.puts={puts}", f"kv.sizes={sizes}", *QUICK, is_checked=puts == 0.5)
        found, where = rows(got), f"{way}, {puts}, {sizes}"
        count = {name: found[name]["operations"] for name in ("GET", "PUT")}
        expect(sum(count.values()) == 1000, f"{where}: {found}")
        expect((count["GET"] == 0) == (puts == 1) and (count["PUT"] == 0) == (puts == 0), f"{where}: {found}")
        expect(got["traffic"][0]["checked"] >= count["GET"], f"{where}: {got['traffic']}")
        for name, one in found.items():
            if count[name]:
                expect(0 < one["latency_min_ns"] <= one["latency_p50_ns"] <= one["latency_p99_ns"], f"{where}: {one}")
                expect(one["bytes"] == 1 if sizes == "1" else 500 < one["bytes"] < 1600, f"{where}: {one}")


def a_value_that_changes_while_it_is_read_is_read_again():
    """One key for all, large values, a processor that writes slowly: READs meet values that are of two versions."""
    sets = ("kv.keys=1", "kv.servers=A", "kv.clients=B..H", "kv.sizes=4 KiB", "kv.puts=0.3", "kv.operations=3000",
            "kv.copy_gbps=20")
    torn = rows(store(*sets))["GET"]["repeated"]
    expect(torn > 10, f"{torn} torn values")
    # A card READs it in pieces, so that a value which is written at once may be torn, too; but for a small one.
    quick = rows(store(*sets, "kv.copy_gbps=0"))["GET"]["repeated"]
    expect(quick < torn, f"{quick} torn values with a quick processor, {torn} with a slow one")
    small = rows(store(*sets, "kv.copy_gbps=0", "kv.sizes=64 B"))["GET"]["repeated"]
    expect(small == 0, f"{small} values that are read and written at once were torn")
    expect(rows(store(*sets, "kv.by=send"))["GET"]["repeated"] == 0, "a server has given a value that it was writing")


def reads_ask_no_processor():
    """Without PUTs a server's processor has nothing to do; with requests it is what holds the store back."""
    sets = ("kv.puts=0", "kv.operations=6000", "kv.servers=A", "kv.clients=B..H", "kv.warm_up=500")
    read, send = (rows(store(*sets, f"kv.by={way}"))["GET"] for way in ("read", "send"))
    expect(read["operations_per_second"] > 1.5 * send["operations_per_second"], f"{read} {send}")
    slow = rows(store(*sets, "kv.by=send", "host.poll_ns=2000"))["GET"]
    expect(slow["operations_per_second"] < 0.5 * send["operations_per_second"], f"{slow} {send}")


def popular_keys_make_a_server_busy():
    even, skewed = (store("kv.warm_up=0", f"kv.zipf={zipf}", "kv.keys=512", "kv.operations=4000") for zipf in (0, 1.5))

    def share(got):
        to = {name: sum(flow["messages"] for flow in got["flows"] if flow["name"].endswith(f"-> {name}.hca0"))
              for name in "AB"}
        return to["A"] / sum(to.values())
    expect(0.45 < share(even) < 0.55 < share(skewed), f"{share(even)} {share(skewed)}")


def lost_packets_lose_no_value():
    for way in ("read", "send", "write"):
        got = store(f"kv.by={way}", "link.loss=0.01", "traffic.ack_timeout=4", "kv.puts=0.3", *QUICK)
        expect(got["verified"] and got["retries"] > 0, f"{way}: {got['retries']}")
    dead = store("link.loss=1", "traffic.ack_timeout=4", "traffic.retry_count=1", *QUICK, status=1)
    expect("retry" in dead["failure"], dead["failure"])


def the_same_seed_does_the_same():
    first, again, other = (store(*QUICK, f"scenario.seed={seed}") for seed in (1, 1, 2))
    expect(first["event_digest"] == again["event_digest"], "not the same run")
    expect(first["event_digest"] != other["event_digest"], "the seed draws nothing")


def what_cannot_be_is_refused_with_its_line():
    for sets, words in (
            (("kv.servers=Z", ), ("kv.servers", "Z is no HCA")),
            (("kv.servers=C",), ("kv.clients", "C.hca0 is a server, too")),
            (("kv.clients=A, A",), ("kv.clients", "twice")),
            (("kv.servers=A..H", "kv.clients="), ("kv.clients", "nobody is left")),
            (("kv.sizes=4 KB",), ("kv.sizes", "did you mean 'KiB'")),
            (("kv.keys=4194304", "kv.sizes=4 KiB"), ("kv.keys", "half")),
            (("scenario.queue_depth=8192", "kv.sizes=64 KiB"), ("scenario.queue_depth", "half")),
            (("kv.sizes=4 MiB", "hca.log_max_message=21"), ("kv.sizes", "larger"))):
        refused(run(*itertools.chain.from_iterable(("--set", one) for one in sets), config=STORE), *words)


main(globals())
