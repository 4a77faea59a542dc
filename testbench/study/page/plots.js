// Plots of a study: values in, SVG out, by d3 (version 3). What differs, differs by colour, by shape and by dashes or
// hatching, and every plot has its numbers as a table below it.
"use strict";
var plots = (function () {
    // Okabe and Ito, Color Universal Design (2008): told apart by people who do not see colours as most do.
    var colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7a7a7a"];
    var dashes = ["", "8 4", "2 3", "10 3 2 3", "5 5", "1 2", "12 4", "3 6"];
    var symbols = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"];
    var size = { width: 520, height: 320, left: 70, right: 30, top: 12, bottom: 50 };
    var patterns = 0, most_linear = 30;

    function number(value) {
        if (value === undefined || value === null) return "-";
        if (value === 0) return "0";
        var digits = Math.abs(value) >= 1e6 || Math.abs(value) < 1e-3 ? value.toExponential(3)
            : String(Number(value.toPrecision(4)));
        return digits;
    }

    // A place of an axis: of bytes and nanoseconds in the largest unit that leaves a number.
    var units = {
        size: [["GiB", 1 << 30], ["MiB", 1 << 20], ["KiB", 1 << 10]],
        time: [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]]
    };
    function place(unit) {
        return function (value) {
            var fits = (units[unit] || []).filter(function (one) { return value >= one[1]; })[0];
            return fits ? number(value / fits[1]) + " " + fits[0] : number(value);
        };
    }

    function figure(parent, title, note) {
        var made = d3.select(parent).append("figure");
        var caption = made.append("figcaption").text(title);
        if (note) caption.append("div").attr("class", "note").text(note);
        return made;
    }

    function canvas(made, title, height, width) {
        var all = { width: width || size.width, height: height || size.height };
        var svg = made.append("svg").attr("viewBox", "0 0 " + all.width + " " + all.height)
            .attr("width", all.width).attr("height", all.height).attr("role", "img");
        svg.append("title").text(title);
        return svg;
    }

    function numbers(made, head, rows) {
        var details = made.append("details");
        details.append("summary").text("numbers");
        var table = details.append("table");
        table.append("tr").selectAll("th").data(head).enter().append("th").text(function (d) { return d; });
        rows.forEach(function (row) {
            table.append("tr").selectAll("td").data(row).enter().append("td").text(function (d) {
                return typeof d === "number" ? number(d) : d;
            });
        });
    }

    // x of numbers (log or not), or of words in their order.
    function scale_of(x, inner) {
        if (x.words) return d3.scale.ordinal().domain(x.words).rangePoints([0, inner], 1);
        var extent = d3.extent(x.values);
        if (x.log && extent[0] > 0) return d3.scale.log().domain(extent).range([0, inner]);
        return d3.scale.linear().domain(extent).range([0, inner]).nice();
    }

    // What goes over decades is legible on a logarithmic scale alone.
    function upward(from, lowest, most, height) {
        if (lowest > 0 && most / lowest > most_linear)
            return d3.scale.log().domain([lowest, most]).range([height, 0]);
        return d3.scale.linear().domain([from, most]).range([height, 0]).nice();
    }

    function ticks_of(axis, scale, x) {
        axis.scale(scale);
        if (x.words) return axis;
        if (!(x.log && x.values.every(function (v) { return v > 0; }))) return axis.ticks(7).tickFormat(place(x.unit));
        // The values that were run, where they do not stand on each other.
        var shown = [], last = -Infinity;
        x.values.slice().sort(d3.ascending).forEach(function (value) {
            if (scale(value) - last >= 56) {
                shown.push(value);
                last = scale(value);
            }
        });
        return axis.tickValues(shown).tickFormat(place(x.unit));
    }

    function draw_axes(g, x, y, scale_x, scale_y, inner) {
        var ticks = scale_y.ticks(6), room = 16;
        if (ticks.length > 8) { // of a logarithmic scale: those that have room
            var last = Infinity;
            ticks = ticks.filter(function (tick) {
                var has_room = last - scale_y(tick) >= room;
                if (has_room) last = scale_y(tick);
                return has_room;
            });
        }
        g.selectAll("line.grid").data(ticks).enter().append("line").attr("class", "grid")
            .attr("x1", 0).attr("x2", inner.width).attr("y1", scale_y).attr("y2", scale_y);
        g.append("g").attr("class", "axis").attr("transform", "translate(0," + inner.height + ")")
            .call(ticks_of(d3.svg.axis().orient("bottom"), scale_x, x));
        g.append("g").attr("class", "axis").call(d3.svg.axis().orient("left").scale(scale_y)
            .tickValues(ticks).tickFormat(number));
        g.append("text").attr("x", inner.width / 2).attr("y", inner.height + 38).attr("text-anchor", "middle")
            .text(x.label);
        g.append("text").attr("transform", "rotate(-90)").attr("x", -inner.height / 2).attr("y", -54)
            .attr("text-anchor", "middle").text(y.label);
    }

    function legend(made, names) {
        if (names.length < 2) return;
        var svg = made.append("svg").attr("class", "legend").attr("width", size.width)
            .attr("height", 20 * names.length).attr("viewBox", "0 0 " + size.width + " " + 20 * names.length);
        names.forEach(function (name, i) {
            var g = svg.append("g").attr("transform", "translate(" + size.left + "," + (20 * i + 10) + ")");
            g.append("path").attr("class", "line").attr("d", "M0 0H40").style("stroke", colours[i % colours.length])
                .style("stroke-dasharray", dashes[i % dashes.length]);
            mark(g.append("g").attr("transform", "translate(20,0)"), i);
            g.append("text").attr("x", 48).attr("y", 4).text(name);
        });
    }

    function mark(g, i) {
        return g.append("path").attr("d", d3.svg.symbol().type(symbols[i % symbols.length]).size(50))
            .style("fill", i % 2 === 0 ? colours[i % colours.length] : "#fff")
            .style("stroke", colours[i % colours.length]).style("stroke-width", 1.5);
    }

    // Lines of series over x with an interval at each place.
    // what: {title, note, x: {label, log, words, values}, y: {label}, series: [{name, places: [{x, mean, half, text}]}],
    //        bands: [{from, to, text}], knees: [{from, to, text}]}
    function lines(parent, what) {
        var made = figure(parent, what.title, what.note);
        var inner = { width: size.width - size.left - size.right, height: size.height - size.top - size.bottom };
        var g = canvas(made, what.title).append("g").attr("transform", "translate(" + size.left + "," + size.top + ")");
        var all = d3.merge(what.series.map(function (one) { return one.places; }));
        var most = d3.max(all, function (p) { return p.mean + p.half; }) || 1;
        var least = Math.min(0, d3.min(all, function (p) { return p.mean - p.half; }) || 0);
        var scale_x = scale_of(what.x, inner.width);
        var lowest = d3.min(all, function (p) { return p.mean - p.half; });
        var scale_y = upward(least, lowest, most * 1.05, inner.height);
        (what.bands || []).forEach(function (band) {
            var domain = scale_x.domain();
            var from = scale_x(Math.max(band.from, domain[0]));
            var to = scale_x(Math.min(band.to, domain[domain.length - 1]));
            if (!(to > from)) return;
            g.append("rect").attr("class", "band").attr("x", from).attr("width", to - from).attr("y", 0)
                .attr("height", inner.height).append("title").text(band.text);
            g.append("text").attr("x", from + 3).attr("y", 12).text("published");
        });
        draw_axes(g, what.x, what.y, scale_x, scale_y, inner);
        (what.knees || []).forEach(function (knee) {
            [knee.from, knee.to].forEach(function (at) {
                g.append("path").attr("class", "knee").attr("d", "M" + scale_x(at) + " 0V" + inner.height)
                    .append("title").text(knee.text);
            });
        });
        what.series.forEach(function (one, i) {
            var colour = colours[i % colours.length];
            var at = function (p) { return scale_x(p.x); };
            g.append("path").datum(one.places).attr("class", "line").style("stroke", colour)
                .style("stroke-dasharray", dashes[i % dashes.length])
                .attr("d", d3.svg.line().x(at).y(function (p) { return scale_y(p.mean); }));
            one.places.forEach(function (p) {
                if (p.half > 0)
                    g.append("path").attr("class", "spread").style("stroke", colour).attr("d",
                        "M" + (at(p) - 4) + " " + scale_y(p.mean - p.half) + "h8M" + at(p) + " " +
                        scale_y(p.mean - p.half) + "V" + scale_y(p.mean + p.half) + "m-4 0h8");
                mark(g.append("g").attr("transform", "translate(" + at(p) + "," + scale_y(p.mean) + ")"), i)
                    .append("title").text(one.name + ": " + p.text);
            });
        });
        legend(made, what.series.map(function (one) { return one.name; }));
        numbers(made, ["", what.x.label, what.y.label, "+-"], d3.merge(what.series.map(function (one) {
            return one.places.map(function (p) { return [one.name, String(p.word), p.mean, p.half]; });
        })));
        return made;
    }

    // A table of tones with the number in each cell.
    // what: {title, note, x: {label, words}, y: {label, words}, cells: [{x, y, value}]}
    function heat(parent, what) {
        var made = figure(parent, what.title, what.note);
        var step = { x: Math.max(46, Math.min(80, 420 / what.x.words.length)), y: 26 };
        var width = 120 + step.x * what.x.words.length, height = 50 + step.y * what.y.words.length;
        var g = canvas(made, what.title, height, width).append("g").attr("transform", "translate(110,8)");
        var extent = d3.extent(what.cells, function (c) { return c.value; });
        var tone = d3.scale.linear().domain(extent[0] === extent[1] ? [extent[0] - 1, extent[1]] : extent)
            .range(["#f7fbff", "#08306b"]).interpolate(d3.interpolateLab);
        what.cells.forEach(function (c) {
            var x = step.x * what.x.words.indexOf(c.x), y = step.y * what.y.words.indexOf(c.y);
            var fill = tone(c.value);
            g.append("rect").attr("x", x).attr("y", y).attr("width", step.x - 1).attr("height", step.y - 1)
                .style("fill", fill).style("stroke", "#999");
            g.append("text").attr("x", x + step.x / 2).attr("y", y + 17).attr("text-anchor", "middle")
                .style("fill", d3.lab(fill).l < 60 ? "#fff" : "#111").text(number(c.value));
        });
        what.x.words.forEach(function (word, i) {
            g.append("text").attr("x", step.x * (i + 0.5)).attr("y", step.y * what.y.words.length + 14)
                .attr("text-anchor", "middle").text(word);
        });
        what.y.words.forEach(function (word, i) {
            g.append("text").attr("x", -6).attr("y", step.y * i + 17).attr("text-anchor", "end").text(word);
        });
        g.append("text").attr("x", step.x * what.x.words.length / 2).attr("y", step.y * what.y.words.length + 32)
            .attr("text-anchor", "middle").text(what.x.label + "  (rows: " + what.y.label + ")");
        return made;
    }

    // Hatchings, so that parts of a stack are told apart without colours. Returns "url(#...)" of a part.
    function hatching(svg, i) {
        var id = "hatch" + patterns++, colour = colours[i % colours.length];
        var p = svg.append("defs").append("pattern").attr("id", id).attr("width", 8).attr("height", 8)
            .attr("patternUnits", "userSpaceOnUse");
        p.append("rect").attr("width", 8).attr("height", 8).style("fill", d3.rgb(colour).brighter(1.2));
        var ways = ["", "M0 4H8", "M4 0V8", "M0 8L8 0", "M0 0L8 8", "M0 4H8M4 0V8", "M0 0L8 8M0 8L8 0", "M3 3h2v2h-2z"];
        p.append("path").attr("d", ways[i % ways.length]).style("stroke", "#111").style("fill", "none");
        return "url(#" + id + ")";
    }

    // what: {title, note, x: {label, words}, y: {label}, parts: [name], stacks: [{x, shares: {name: share}}]}
    function stacks(parent, what) {
        var made = figure(parent, what.title, what.note);
        var inner = { width: size.width - size.left - size.right, height: size.height - size.top - size.bottom };
        var svg = canvas(made, what.title);
        var g = svg.append("g").attr("transform", "translate(" + size.left + "," + size.top + ")");
        var scale_x = d3.scale.ordinal().domain(what.x.words).rangeBands([0, inner.width], 0.15);
        var scale_y = d3.scale.linear().domain([0, 1]).range([inner.height, 0]);
        var axis = d3.svg.axis().orient("bottom").scale(scale_x);
        var every = Math.ceil(what.x.words.length * 44 / inner.width);
        axis.tickValues(what.x.words.filter(function (word, i) { return i % every === 0; }));
        g.append("g").attr("class", "axis").attr("transform", "translate(0," + inner.height + ")").call(axis);
        g.append("g").attr("class", "axis").call(d3.svg.axis().orient("left").scale(scale_y).ticks(5)
            .tickFormat(d3.format("%")));
        g.append("text").attr("x", inner.width / 2).attr("y", inner.height + 38).attr("text-anchor", "middle")
            .text(what.x.label);
        var fills = what.parts.map(function (part, i) { return hatching(svg, i); });
        what.stacks.forEach(function (stack) {
            var from = 0;
            what.parts.forEach(function (part, i) {
                var share = stack.shares[part] || 0;
                if (share === 0) return;
                g.append("rect").attr("x", scale_x(stack.x)).attr("width", scale_x.rangeBand())
                    .attr("y", scale_y(from + share)).attr("height", scale_y(from) - scale_y(from + share))
                    .style("fill", fills[i]).style("stroke", "#111").append("title")
                    .text(stack.x + ": " + part + " " + Math.round(share * 100) + " %");
                from += share;
            });
        });
        var key = made.append("svg").attr("class", "legend").attr("width", size.width)
            .attr("height", 20 * what.parts.length);
        what.parts.forEach(function (part, i) {
            key.append("rect").attr("x", size.left).attr("y", 20 * i + 2).attr("width", 30).attr("height", 14)
                .style("fill", fills[i]).style("stroke", "#111");
            key.append("text").attr("x", size.left + 38).attr("y", 20 * i + 14).text(part);
        });
        numbers(made, [what.x.label, "resource", "share"], d3.merge(what.stacks.map(function (stack) {
            return Object.keys(stack.shares).map(function (part) { return [stack.x, part, stack.shares[part]]; });
        })));
        return made;
    }

    // what: {title, note, x: {label}, y: {label}, dots: [{x, y, text, front}]}
    function scatter(parent, what) {
        var made = figure(parent, what.title, what.note);
        var inner = { width: size.width - size.left - size.right, height: size.height - size.top - size.bottom };
        var g = canvas(made, what.title).append("g").attr("transform", "translate(" + size.left + "," + size.top + ")");
        var x = { label: what.x.label, values: what.dots.map(function (d) { return d.x; }) };
        var scale_x = scale_of(x, inner.width);
        var extent = d3.extent(what.dots, function (d) { return d.y; });
        var scale_y = upward(extent[0], extent[0], extent[1], inner.height);
        draw_axes(g, x, what.y, scale_x, scale_y, inner);
        var front = what.dots.filter(function (d) { return d.front; })
            .sort(function (a, b) { return d3.ascending(a.x, b.x); });
        g.append("path").datum(front).attr("class", "line").style("stroke", "#111").attr("d", d3.svg.line()
            .x(function (d) { return scale_x(d.x); }).y(function (d) { return scale_y(d.y); }));
        what.dots.forEach(function (d) {
            g.append("path").attr("transform", "translate(" + scale_x(d.x) + "," + scale_y(d.y) + ")")
                .attr("d", d3.svg.symbol().type(d.front ? "diamond" : "circle").size(d.front ? 90 : 30))
                .style("fill", d.front ? "#111" : "#fff").style("stroke", "#111").append("title").text(d.text);
        });
        return made;
    }

    // Bars with their share as a number. what: {title, note, bars: [{name, share, text}]}
    function bars(parent, what) {
        var made = figure(parent, what.title, what.note);
        var height = 24 * what.bars.length + 8;
        var svg = canvas(made, what.title, height);
        what.bars.forEach(function (bar, i) {
            svg.append("text").attr("x", 250).attr("y", 24 * i + 18).attr("text-anchor", "end").text(bar.name);
            svg.append("rect").attr("x", 256).attr("y", 24 * i + 5).attr("height", 16).attr("width", 180 * bar.share)
                .style("fill", "#0072b2").style("stroke", "#111");
            svg.append("text").attr("x", 262 + 180 * bar.share).attr("y", 24 * i + 18).text(bar.text);
        });
        return made;
    }

    return { lines: lines, heat: heat, stacks: stacks, scatter: scatter, bars: bars, number: number };
})();
