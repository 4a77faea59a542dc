#include "testbench/hcasim/drawing.h"
#include "testbench/program/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <vector>

namespace hcasim {
namespace {

using namespace platform::topology;

// Pixels. Hosts stand side by side with their cards at the top, the fabric's switches above them by their distance.
constexpr double cell = 84, box_width = 70, box_height = 24, row = 66, gap = 28, margin = 20, cable_rise = 120;

struct Point {
    double x = 0, y = 0; ///< of a box's centre
};

struct Box {
    Point at;
    double width = box_width;
    std::string id, name, title;
    std::string_view kind;
};

class Picture {
public:
    explicit Picture(const Description& platform) : platform_(platform) { place(); }
    std::string svg() const;

private:
    void place();
    double place_part(std::size_t host, std::size_t part, double& next);
    void place_switches(double right);
    Point at(const CableEnd& end) const {
        return end.is_switch ? switches_[end.fabric_switch].at : cards_.at({end.host, end.part});
    }
    void append_link(std::string& text, Point from, Point to, std::string_view label, std::string_view title) const;
    void append_box(std::string& text, const Box& box) const;

    struct Line {
        Point from, to;
        std::string label, title;
    };
    const Description& platform_;
    std::size_t depth_ = 1; ///< levels of the deepest tree, the cards' among them
    double top_ = 0, bottom_ = 0, width_ = 0;
    std::vector<Box> boxes_, switches_;
    std::vector<Line> lines_;
    std::map<std::pair<std::size_t, std::size_t>, Point> cards_;
};

std::string_view class_of(PartKind kind) {
    constexpr std::array<std::string_view, 5> names{"root", "switch", "hca", "gpu", "device"};
    return names[static_cast<std::size_t>(kind)];
}

std::size_t depth_of(const DescribedHost& host, std::size_t part) {
    std::size_t depth = 1;
    for (auto at = host.parts[part].parent; at; at = host.parts[*at].parent)
        ++depth;
    return depth;
}

std::string join(std::string_view first, std::string_view second) {
    return second.empty() ? std::string(first) : fmt::format("{}, {}", first, second);
}

/// By how many cables each switch is away from the nearest HCA.
std::vector<std::size_t> levels_of(const Description& platform) {
    std::vector<std::size_t> levels(platform.switches.size());
    for (std::size_t level = 1; level <= platform.switches.size(); ++level)
        for (const auto& cable : platform.cables)
            for (unsigned end = 0; end < 2; ++end) {
                const auto& near = cable.ends[end];
                const auto& far = cable.ends[1 - end];
                if (far.is_switch && levels[far.fabric_switch] == 0 &&
                    (near.is_switch ? levels[near.fabric_switch] == level - 1 && level > 1 : level == 1))
                    levels[far.fabric_switch] = level;
            }
    for (auto& level : levels)
        level = std::max<std::size_t>(level, 1);
    return levels;
}

void Picture::place() {
    for (const auto& host : platform_.hosts)
        for (std::size_t i = 0; i < host.parts.size(); ++i)
            depth_ = std::max(depth_, depth_of(host, i));
    const auto levels = levels_of(platform_);
    const auto highest = levels.empty() ? std::size_t{0} : *std::ranges::max_element(levels);
    top_ = margin + box_height + static_cast<double>(highest) * cable_rise + (highest == 0 ? cable_rise : 0);
    bottom_ = top_ + static_cast<double>(depth_) * row;
    double next = margin;
    for (std::size_t h = 0; h < platform_.hosts.size(); ++h) {
        const auto& host = platform_.hosts[h];
        const double left = next;
        std::vector<double> ports;
        for (std::size_t i = 0; i < host.parts.size(); ++i)
            if (!host.parts[i].parent)
                ports.push_back(place_part(h, i, next));
        next = std::max(next, left + 2 * cell);
        const Point complex{(left + next) / 2, bottom_};
        for (const auto x : ports)
            lines_.push_back({complex, {x, bottom_ - row}, {}, {}});
        boxes_.push_back(
            {.at = complex,
             .width = next - left - 12,
             .id = host.name,
             .name = fmt::format("host {}, DRAM {}", host.name, print_bytes(host.memory.memory_bytes)),
             .title = fmt::format("{}: root complex, DRAM {}{}{}", host.name, print_bytes(host.memory.memory_bytes),
                                  host.iommu.is_present ? ", remapping unit" : "", host.is_served ? ", served" : ""),
             .kind = "host"});
        next += gap;
    }
    width_ = next - gap + margin;
    place_switches(width_);
}

/// A card has a column of its own, what is below others stands under their middle. Returns where.
double Picture::place_part(std::size_t h, std::size_t i, double& next) {
    const auto& host = platform_.hosts[h];
    const auto& part = host.parts[i];
    std::vector<double> above;
    for (std::size_t j = 0; j < host.parts.size(); ++j)
        if (host.parts[j].parent == i)
            above.push_back(place_part(h, j, next));
    Point at{next + cell / 2, bottom_ - static_cast<double>(depth_of(host, i)) * row};
    if (above.empty())
        next += cell;
    else
        at.x = (above.front() + above.back()) / 2;
    if (part.is_card())
        at.y = top_;
    for (std::size_t j = 0, k = 0; j < host.parts.size(); ++j)
        if (host.parts[j].parent == i) {
            const auto& child = host.parts[j];
            const auto y = child.is_card() ? top_ : at.y - row;
            lines_.push_back({at,
                              {above[k++], y},
                              print_link(child.link),
                              fmt::format("{} to {}: {}, MPS {}, {}", part.name, child.name, print_link(child.link),
                                          child.link.mps_bytes, print_time(child.link.latency.count()))});
        }
    cards_[{h, i}] = at;
    const auto path = platform_.path_of({h, i});
    boxes_.push_back(
        {.at = at, .id = path, .name = part.name, .title = join(path, print_facts(part)), .kind = class_of(part.kind)});
    return at.x;
}

void Picture::place_switches(double right) {
    const auto levels = levels_of(platform_);
    std::map<std::size_t, std::size_t> counts, done;
    for (const auto level : levels)
        ++counts[level];
    for (const auto& [level, count] : counts)
        width_ = std::max(width_, 2 * margin + static_cast<double>(count) * (2 * cell + gap));
    right = width_;
    for (std::size_t i = 0; i < levels.size(); ++i) {
        const auto& at = platform_.switches[i];
        const auto share = (static_cast<double>(done[levels[i]]++) + 0.5) / static_cast<double>(counts[levels[i]]);
        switches_.push_back(
            {.at = {right * share, top_ - static_cast<double>(levels[i]) * cable_rise},
             .width = 2 * cell,
             .id = at.name,
             .name = fmt::format("{}, {} ports", at.name, at.ports),
             .title = fmt::format("{}: {} ports, {}", at.name, at.ports, print_time(at.latency.count())),
             .kind = "fabric"});
    }
}

void Picture::append_link(std::string& text, Point from, Point to, std::string_view label,
                          std::string_view title) const {
    fmt::format_to(std::back_inserter(text),
                   "<g class=\"link\"><title>{}</title><path d=\"M{:.0f} {:.0f}L{:.0f} {:.0f}\"/>", title, from.x,
                   from.y, to.x, to.y);
    if (!label.empty())
        fmt::format_to(std::back_inserter(text), "<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>", to.x,
                       to.y + box_height / 2 + 13, label);
    text += "</g>\n";
}

void Picture::append_box(std::string& text, const Box& box) const {
    fmt::format_to(std::back_inserter(text),
                   "<g id=\"{}\" class=\"{}\"><title>{}</title><rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" "
                   "height=\"{:.0f}\" rx=\"3\"/><text x=\"{:.0f}\" y=\"{:.0f}\">{}</text></g>\n",
                   box.id, box.kind, box.title, box.at.x - box.width / 2, box.at.y - box_height / 2, box.width,
                   box_height, box.at.x, box.at.y + 4, box.name);
}

std::string Picture::svg() const {
    auto text = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
                            "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n"
                            "<style>text{{font:11px "
                            "sans-serif;text-anchor:middle}}path{{stroke:#555;fill:none}}rect{{stroke:#333;fill:#fff}}"
                            ".host rect{{fill:#e8e8e8}}.switch rect,.fabric rect{{fill:#dce8f8}}.hca "
                            "rect{{fill:#d8f0d8}}.gpu rect{{fill:#f8ecd0}}"
                            ".link text{{font-size:9px;fill:#444}}.cable path{{stroke:#06c;stroke-width:1.5}}.cable "
                            "text{{font-size:9px;fill:#06c}}"
                            "</style>\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" style=\"stroke:none\"/>\n",
                            width_, bottom_ + box_height / 2 + margin);
    for (const auto& line : lines_)
        append_link(text, line.from, line.to, line.label, line.title);
    for (const auto& cable : platform_.cables) {
        const auto from = at(cable.ends[0]), to = at(cable.ends[1]);
        // A cable between two hosts hangs over them; one to a switch is straight.
        const bool is_straight = cable.ends[0].is_switch || cable.ends[1].is_switch;
        const Point middle{(from.x + to.x) / 2, is_straight ? (from.y + to.y) / 2 : top_ - cable_rise};
        const Point label{is_straight ? (2 * from.x + to.x) / 3 : middle.x,
                          is_straight ? (2 * from.y + to.y) / 3 : (top_ + middle.y) / 2};
        fmt::format_to(
            std::back_inserter(text),
            "<g id=\"{}\" class=\"cable\"><title>{}: {} to {}, {}</title><path d=\"M{:.0f} {:.0f}Q{:.0f} {:.0f} "
            "{:.0f} {:.0f}\"/><text x=\"{:.0f}\" y=\"{:.0f}\">{:g} Gbit/s</text></g>\n",
            cable.name, cable.name, platform_.name_of(cable.ends[0]), platform_.name_of(cable.ends[1]),
            print_cable(cable.link), from.x, from.y, middle.x, middle.y, to.x, to.y, label.x, label.y,
            cable.link.rate_gbps);
    }
    for (const auto& box : boxes_)
        append_box(text, box);
    for (const auto& box : switches_)
        append_box(text, box);
    return text + "</svg>\n";
}

} // namespace

std::string draw_svg(const Description& platform) { return Picture(platform).svg(); }

} // namespace hcasim
