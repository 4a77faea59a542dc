// Puts a study's numbers into its page. The numbers are JSON in the page itself; nothing is fetched.
"use strict";
(function () {
    var data = JSON.parse(document.getElementById("data").textContent);
    var number = plots.number;
    var most_series = 8;

    function id(name) { return document.getElementById(name); }
    function hide(name) { id(name).style.display = "none"; }
    function words(settings) {
        var keys = Object.keys(settings);
        return keys.length === 0 ? "the base" : keys.map(function (key) { return key + "=" + settings[key]; }).join(" ");
    }
    function with_unit(metric) { return metric.name + (metric.unit ? ", " + metric.unit : ""); }
    function without(settings, key) {
        var rest = {};
        Object.keys(settings).forEach(function (one) { if (one !== key) rest[one] = settings[one]; });
        return rest;
    }
    function axis_of(axis, cells) {
        return {
            label: axis.key, log: axis.log, unit: axis.unit,
            words: axis.number ? undefined : axis.values,
            values: axis.number ? cells.map(function (c) { return c.at[axis.key]; }) : []
        };
    }
    function place_of(axis, cell, metric) {
        var found = cell.metrics[metric.name];
        return {
            x: axis.number ? cell.at[axis.key] : cell.settings[axis.key], word: cell.settings[axis.key],
            order: cell.at[axis.key], mean: found.mean, half: found.half, round: cell.round,
            text: words(cell.settings) + ": " + number(found.mean) + (found.half > 0 ? " +- " + number(found.half) : "") +
                " of " + found.count
        };
    }
    function by_order(a, b) { return a.order - b.order; }

    // Cells along an axis, a series for each combination of the others; where these are many, their mean.
    function series_of(axis, metric, cells) {
        var groups = d3.map();
        cells.forEach(function (cell) {
            var others = words(without(cell.settings, axis.key));
            if (!groups.has(others)) groups.set(others, []);
            groups.get(others).push(place_of(axis, cell, metric));
        });
        if (groups.size() <= most_series)
            return groups.entries().map(function (group) {
                return { name: group.key === "the base" ? metric.name : group.key, places: group.value.sort(by_order) };
            });
        // Places of refinement are not there for each combination.
        var means = d3.map(), count = 0;
        groups.values().forEach(function (places) {
            places = places.filter(function (p) { return p.round === 0; });
            count += places.length !== 0 ? 1 : 0;
            places.forEach(function (p) {
                if (!means.has(p.word)) means.set(p.word, []);
                means.get(p.word).push(p);
            });
        });
        return [{ name: "mean of " + count + " combinations of the other axes", is_mean: true,
            places: means.values().map(function (places) {
                return { x: places[0].x, word: places[0].word, order: places[0].order, half: 0,
                    mean: d3.mean(places, function (p) { return p.mean; }), text: places[0].word };
            }).sort(by_order) }];
    }

    function cells_with(axis, metric) {
        return data.cells.filter(function (cell) { return cell.metrics[metric.name] && axis.key in cell.settings; });
    }

    function draw_curves() {
        var drawn = 0;
        data.metrics.forEach(function (metric) {
            data.axes.forEach(function (axis) {
                var cells = cells_with(axis, metric);
                if (cells.length < 2 || axis.values.length < 2) return;
                var is_refined = data.refined.along === axis.key && data.refined.metric === metric.name;
                var series = series_of(axis, metric, cells), notes = [];
                if (cells.some(function (c) { return c.metrics[metric.name].half > 0; }))
                    notes.push("bars: " + data.confidence * 100 + " % confidence intervals over seeds");
                if (series[0].is_mean) notes.push(series[0].name);
                plots.lines(id("curves"), {
                    title: with_unit(metric) + " along " + axis.key, note: notes.join("; "),
                    x: axis_of(axis, cells), y: { label: with_unit(metric) }, series: series,
                    bands: is_refined && data.expected
                        ? [{ from: data.expected.from, to: data.expected.to, text: data.expected.source }] : [],
                    knees: is_refined ? knees() : []
                });
                ++drawn;
            });
        });
        if (drawn === 0) hide("curves");
    }
    function knees() {
        return data.knees.map(function (knee) {
            return { from: knee.from, to: knee.to,
                text: "knee of " + words(knee.others) + ": " + knee.before + " to " + knee.behind };
        });
    }

    // Metrics that share a plot, as percentiles of latency do: a line each, at the other axes' first values.
    function draw_shared() {
        var groups = d3.nest().key(function (m) { return m.plot; }).entries(data.metrics.filter(function (m) {
            return m.plot;
        }));
        var drawn = 0;
        groups.forEach(function (group) {
            data.axes.forEach(function (axis) {
                var cells = cells_with(axis, group.values[0]);
                if (cells.length < 2 || axis.values.length < 2) return;
                var others = words(without(cells[0].settings, axis.key));
                cells = cells.filter(function (c) { return words(without(c.settings, axis.key)) === others; });
                plots.lines(id("shared"), {
                    title: group.key + " along " + axis.key, note: "at " + others,
                    x: axis_of(axis, cells), y: { label: group.key + ", " + group.values[0].unit },
                    series: group.values.map(function (metric) {
                        return { name: metric.name, places: cells.filter(function (c) { return c.metrics[metric.name]; })
                            .map(function (c) { return place_of(axis, c, metric); }).sort(by_order) };
                    })
                });
                ++drawn;
            });
        });
        if (drawn === 0) hide("shared");
    }

    function draw_effects() {
        var drawn = 0, titles = {
            variance: "share of the variation that an axis makes by itself, and two of them beyond that",
            range: "range along an axis, as a share of all ranges",
            correlation: "squared rank correlation"
        };
        data.metrics.forEach(function (metric) {
            var effects = data.effects[metric.name];
            if (data.axes.length < 2) return;
            if (effects.why_not) {
                d3.select(id("effects")).append("p").text(metric.name + ": not said, since " + effects.why_not + ".");
                ++drawn;
                return;
            }
            var list = effects.effects.map(function (effect) {
                var chance = effect.chance === null ? "" : ", by chance " + number(effect.chance);
                return { name: effect.axes.join(" x "), share: effect.share,
                    text: Math.round(effect.share * 1000) / 10 + " %" + chance };
            });
            if (effects.kind === "variance")
                list.push({ name: "seeds, and three together", share: effects.rest,
                    text: Math.round(effects.rest * 1000) / 10 + " %" });
            plots.bars(id("effects"), { title: metric.name, note: titles[effects.kind], bars: list });
            ++drawn;
        });
        if (drawn === 0) hide("effects");
    }

    function draw_heat() {
        var drawn = 0;
        for (var i = 0; i < data.axes.length; ++i)
            for (var j = i + 1; j < data.axes.length; ++j)
                data.metrics.forEach(heat_of.bind(null, data.axes[i], data.axes[j]));
        function heat_of(x, y, metric) {
            var cells = d3.nest().key(function (c) { return c.settings[x.key]; })
                .key(function (c) { return c.settings[y.key]; })
                .entries(data.cells.filter(function (c) {
                    return c.round === 0 && c.metrics[metric.name] && x.key in c.settings && y.key in c.settings;
                }));
            var flat = [], is_mean = false;
            cells.forEach(function (column) {
                column.values.forEach(function (cell) {
                    is_mean = is_mean || cell.values.length > 1;
                    flat.push({ x: column.key, y: cell.key,
                        value: d3.mean(cell.values, function (c) { return c.metrics[metric.name].mean; }) });
                });
            });
            if (flat.length < 2) return;
            plots.heat(id("heat"), {
                title: with_unit(metric), note: is_mean ? "mean over the other axes" : "",
                x: { label: x.key, words: x.values.filter(has("x")) },
                y: { label: y.key, words: y.values.filter(has("y")) }, cells: flat
            });
            ++drawn;
            function has(way) {
                return function (word) { return flat.some(function (c) { return c[way] === word; }); };
            }
        }
        if (drawn === 0) hide("heat");
    }

    function draw_pareto() {
        if (data.objectives.length < 2) return hide("pareto");
        for (var i = 0; i < data.objectives.length; ++i)
            for (var j = i + 1; j < data.objectives.length; ++j)
                pair(data.objectives[i], data.objectives[j]);
        function pair(x, y) {
            var metrics = [x, y].map(function (name) {
                return data.metrics.filter(function (m) { return m.name === name; })[0];
            });
            var dots = [];
            data.cells.forEach(function (cell, place) {
                if (cell.metrics[x] && cell.metrics[y])
                    dots.push({ x: cell.metrics[x].mean, y: cell.metrics[y].mean, front: data.front.indexOf(place) >= 0,
                        text: words(cell.settings) });
            });
            plots.scatter(id("pareto"), {
                title: y + " against " + x,
                note: "diamonds: no place is better in all objectives; " + metrics.map(function (m) {
                    return (m.more ? "more" : "less") + " of " + m.name + " is better";
                }).join(", "),
                x: { label: with_unit(metrics[0]) }, y: { label: with_unit(metrics[1]) }, dots: dots
            });
        }
    }

    // A stack at each place of an axis: with the same others where these are few, else the mean over them.
    function draw_bottlenecks() {
        var drawn = 0, most_others = 3;
        data.axes.forEach(function (axis) {
            var points = data.points.filter(function (p) { return axis.key in p.settings && p.bottlenecks.length; });
            var others = d3.nest().key(function (p) { return words(without(p.settings, axis.key)); }).entries(points);
            if (others.length > most_others) others = [{ key: "", values: points }];
            others.forEach(function (group) {
                var sums = d3.nest().key(function (p) { return p.settings[axis.key]; }).entries(group.values);
                if (sums.length < 2) return;
                var stacks = sums.map(function (sum) { return { x: sum.key, shares: mean_shares(sum.values) }; });
                stacks.sort(function (a, b) { return order_of(axis, a.x) - order_of(axis, b.x); });
                plots.stacks(id("bottlenecks"), {
                    title: "busiest resource along " + axis.key + (group.key ? ", " + group.key : ""),
                    note: "share of the measured time; latency: every resource had time to spare" +
                        (group.key ? "" : "; mean over the other axes"),
                    x: { label: axis.key, words: stacks.map(function (s) { return s.x; }) }, y: {},
                    parts: bottleneck_names, stacks: stacks
                });
                ++drawn;
            });
        });
        if (drawn === 0) hide("bottlenecks");
    }
    // One order, so that a resource looks the same in every stack.
    var bottleneck_names = d3.set(d3.merge(data.points.map(function (p) {
        return p.bottlenecks.map(function (b) { return b[0]; });
    }))).values().sort();
    function mean_shares(points) {
        var shares = {};
        points.forEach(function (p) {
            p.bottlenecks.forEach(function (b) { shares[b[0]] = (shares[b[0]] || 0) + b[1] / points.length; });
        });
        return shares;
    }
    function order_of(axis, word) {
        var cell = data.cells.filter(function (c) { return c.settings[axis.key] === word; })[0];
        return cell.at[axis.key];
    }

    // --- one point: the platform with its loads, events over time -----------------------------------------------------

    function show_point(point) {
        var section = d3.select(id("one"));
        section.selectAll(".shown").remove();
        var box = section.append("div").attr("class", "shown keep");
        box.append("p").attr("id", "one-title")
            .text("Point " + point.number + ": " + words(point.settings) + ", " + point.status +
                (point.reason ? ": " + point.reason : ""));
        box.append("pre").attr("class", "command").text(point.command);
        d3.selectAll("#points tbody tr").classed("chosen", function (d) { return d === point; });
        if (point.loads.length !== 0) {
            draw_topology(box, point);
            var loads = point.loads.slice().sort(function (a, b) { return b[2] - a[2]; }).slice(0, 12);
            plots.bars(box.node(), { title: "busiest resources",
                note: "share of the whole run that they were busy, its set-up included",
                bars: loads.map(function (l) {
                    return { name: l[0], share: Math.min(1, l[2]), text: Math.round(l[2] * 1000) / 10 + " %" };
                }) });
        }
        if (point.intervals.length > 1) draw_intervals(box, point);
        else if (point.events.length > 2) draw_events(box, point);
    }

    function draw_topology(box, point) {
        if (!data.topology) return;
        var made = box.append("figure");
        made.append("figcaption").text("the platform, with the busiest resource of each device");
        var holder = made.append("div").attr("class", "topology").html(data.topology);
        // A picture's own style is the whole page's otherwise.
        holder.select("style").text(holder.select("style").text().replace(/([^{}]+)\{/g, function (all, selectors) {
            return selectors.split(",").map(function (one) { return ".topology " + one; }).join(",") + "{";
        }));
        var busiest = {};
        point.loads.forEach(function (load) {
            if (!busiest[load[1]] || busiest[load[1]][2] < load[2]) busiest[load[1]] = load;
        });
        holder.selectAll("g[id]").each(function () {
            var path = this.id.split("."), load = busiest[path[0] + "." + path[path.length - 1]];
            var rect = d3.select(this).select("rect");
            if (!load || rect.empty()) return;
            var x = +rect.attr("x"), y = +rect.attr("y"), width = +rect.attr("width"), height = +rect.attr("height");
            d3.select(this).append("rect").attr("x", x).attr("y", y + height - 4).attr("height", 4).attr("rx", 0)
                .attr("width", width * Math.min(1, load[2])).style("fill", "#111").style("stroke", "none");
            d3.select(this).append("text").attr("class", "load").attr("x", x + width / 2).attr("y", y - 4)
                .style("font-size", "9px").text(Math.round(load[2] * 100) + " %")
                .append("title").text(load[0] + " " + Math.round(load[2] * 1000) / 10 + " %");
            d3.select(this).select("title").text(this.id + ": " + load[0] + " " + number(load[2] * 100) + " %");
        });
    }

    // The measured time, of a scenario that reports it in parts.
    function draw_intervals(box, point) {
        function series(name, of) {
            return { name: name, places: point.intervals.filter(function (i) { return of(i) !== null; })
                .map(function (i) {
                    var middle = (i[0] + i[1]) / 2000;
                    return { x: middle, word: number(middle), mean: of(i), half: 0,
                        text: number(of(i)) + ", bottleneck " + i[5] };
                }) };
        }
        var x = { label: "simulated time, us", values: point.intervals.map(function (i) {
            return (i[0] + i[1]) / 2000;
        }) };
        plots.lines(box.node(), { title: "rate over time", x: x, y: { label: "Gbit/s" },
            series: [series("rate", function (i) { return i[2] * 8e-9; })] });
        var latencies = [series("p50", function (i) { return i[3]; }), series("p99", function (i) { return i[4]; })];
        if (latencies[0].places.length !== 0)
            plots.lines(box.node(), { title: "latency over time", x: x, y: { label: "ns" }, series: latencies });
    }

    function draw_events(box, point) {
        var places = [];
        for (var i = 1; i < point.events.length; ++i) {
            var time = point.events[i][0] - point.events[i - 1][0];
            if (time > 0)
                places.push({ x: point.events[i][0] / 1000, word: number(point.events[i][0] / 1000), half: 0,
                    mean: (point.events[i][1] - point.events[i - 1][1]) / time * 1000, text: "" });
        }
        plots.lines(box.node(), { title: "events of the model over simulated time",
            x: { label: "us", values: places.map(function (p) { return p.x; }) }, y: { label: "events a us" },
            series: [{ name: "events", places: places }] });
    }

    // --- the table ----------------------------------------------------------------------------------------------------

    function draw_table() {
        var section = d3.select(id("table")), filters = section.append("div").attr("class", "filters");
        var chosen = {};
        function add_filter(name, values, of) {
            if (values.length < 2) return;
            var select = filters.append("label").text(name).append("select").attr("data-filter", name)
                .on("change", function () {
                    chosen[name] = this.value === "" ? undefined : { value: this.value, of: of };
                    fill();
                });
            select.append("option").attr("value", "").text("all");
            values.forEach(function (value) { select.append("option").attr("value", value).text(value); });
        }
        data.axes.forEach(function (axis) {
            var values = d3.set(data.points.map(function (p) { return p.settings[axis.key]; })
                .filter(function (v) { return v !== undefined; })).values();
            add_filter(axis.key, values, function (p) { return p.settings[axis.key]; });
        });
        add_filter("status", d3.set(data.points.map(function (p) { return p.status; })).values(),
            function (p) { return p.status; });
        var columns = [{ name: "point", of: function (p) { return p.number; } }]
            .concat(data.axes.map(function (axis) {
                return { name: axis.key, of: function (p) { return p.settings[axis.key]; },
                    order: function (p) {
                        return axis.number ? parseFloat(coordinate(p, axis)) : p.settings[axis.key];
                    } };
            }))
            .concat([{ name: "seed", of: function (p) { return p.seed; } }])
            .concat(data.metrics.map(function (metric) {
                return { name: with_unit(metric), of: function (p) { return p.metrics[metric.name]; }, metric: metric };
            }))
            .concat([{ name: "status", of: function (p) { return p.status; }, word: "word status" },
                { name: "wall s", of: function (p) { return p.seconds; } },
                { name: "difference from the base, and the command", of: function () { return ""; }, word: "word" }]);
        function coordinate(point, axis) {
            var cell = data.cells.filter(function (c) { return c.points.indexOf(point.number) >= 0; })[0];
            return cell.at[axis.key];
        }
        var order = null, table = section.append("div").attr("class", "scroll").append("table").attr("id", "points");
        table.append("thead").append("tr").selectAll("th").data(columns).enter().append("th")
            .attr("class", function (c) { return c.word || ""; }).append("button").text(function (c) { return c.name; })
            .on("click", function (c) {
                order = { column: c, down: order && order.column === c ? !order.down : false };
                fill();
            });
        var body = table.append("tbody");
        section.append("p").attr("id", "shown");
        function fill() {
            var rows = data.points.filter(function (p) {
                return Object.keys(chosen).every(function (name) {
                    return chosen[name] === undefined || chosen[name].of(p) === chosen[name].value;
                });
            });
            if (order) {
                var of = order.column.order || order.column.of;
                rows.sort(function (a, b) {
                    return (order.down ? d3.descending : d3.ascending)(of(a), of(b)) || a.number - b.number;
                });
            }
            body.selectAll("tr").remove();
            var tr = body.selectAll("tr").data(rows).enter().append("tr").attr("data-point", function (p) {
                return p.number;
            }).classed("failed", function (p) { return p.status !== "done"; })
                .on("click", function (p) { show_point(p); });
            columns.forEach(function (column, i) {
                tr.append("td").attr("class", column.word || "").each(function (p) {
                    var value = column.of(p), cell = d3.select(this);
                    if (i === columns.length - 1) return difference(cell, p);
                    cell.text(typeof value === "number" && i !== 0 ? number(value) : value === undefined ? "-" : value);
                    if (column.metric && value !== undefined) cell.attr("data-value", value);
                    if (column.name === "status" && p.reason) cell.append("div").text(p.reason);
                });
            });
            id("shown").textContent = rows.length + " of " + data.points.length + " points";
        }
        function difference(cell, point) {
            cell.append("code").text(words(point.all));
            var details = cell.append("details");
            details.append("summary").text("command");
            details.append("code").attr("class", "command").text(point.command);
            details.append("div").text("events: " + (point.digest || "-"));
        }
        fill();
    }

    id("file").textContent = data.file + ", base " + data.base + ", hcasim " + data.version;
    id("question").textContent = data.question || data.file;
    d3.select(id("answer")).selectAll("li").data(data.answer).enter().append("li").text(function (d) { return d; });
    var done = data.points.filter(function (p) { return p.status === "done"; }).length;
    id("state").textContent = done + " of " + data.points.length + " points are done. " +
        (data.end ? "The sweep has ended: " + data.end + "." : "The sweep has not come to its end.") +
        " Content: SHA-256 " + data.digest + ".";
    id("text").textContent = data.text;
    draw_curves();
    draw_shared();
    draw_effects();
    draw_heat();
    draw_pareto();
    draw_bottlenecks();
    draw_table();
    if (data.points.length !== 0)
        show_point(data.points.filter(function (p) { return p.status === "done"; }).pop() || data.points[0]);
    document.body.setAttribute("data-ready", "true");
})();
