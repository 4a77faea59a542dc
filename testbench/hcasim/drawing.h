// A platform as a person sees it: the tree of each host and the fabric between them, as text and as SVG. Pure: a
// description in, text out.
#pragma once

#include "platform/topology/description.h"

#include <string>

namespace hcasim {

/// "Gen4 x16"
std::string print_link(const platform::topology::PcieLinkConfig& link);
/// "InfiniBand, 100 Gbit/s, 500 ns"
std::string print_cable(const model::net::LinkConfig& link);
/// "VRAM 2 GiB", "LID 1"; empty where there is nothing to say.
std::string print_facts(const platform::topology::Part& part);

/// Hosts that are alike are drawn once, and ports in a row that lead to like parts of them are one line.
std::string draw_text(const platform::topology::Description& platform);

/// All hosts and cables, each part and cable with its path, link and facts as a title that viewers show.
std::string draw_svg(const platform::topology::Description& platform);

} // namespace hcasim
