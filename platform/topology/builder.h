// Makes a Description of what is written: names first, then the tree of each host, then the fabric, then the values of
// keys. Private to describe*.cpp.
#pragma once

#include "platform/topology/description.h"
#include "platform/topology/part_keys.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace platform::topology {

class Builder {
public:
    explicit Builder(const Config& config);
    std::expected<Description, std::vector<Fault>> build();

private:
    using Settings = std::vector<Setting>;
    struct Named {
        Settings* settings;
        std::string key;
    };

    // describe.cpp
    std::string where_of(std::string_view key) const;
    bool take_name(const std::string& name, const std::string& where);
    std::optional<Named> resolve(const Setting& setting);
    std::string no_such_part(std::size_t host, std::string_view name) const;
    void take_exceptions();
    Config with(const Settings& settings, Thing thing, const Config& start);
    void apply_settings();
    void configure_host(std::size_t number);
    void configure_part(Part& part, const Settings& settings);
    static Thing thing_of(PartKind kind);
    void add_fault(const std::string& where, std::string text) { faults_.push_back({where, std::move(text)}); }

    // describe_host.cpp
    struct Tree {
        std::vector<Part> parts;
        std::vector<Settings> settings;             ///< of each
        std::vector<std::optional<unsigned>> slots; ///< as written
        std::vector<bool> is_listed;                ///< in a line of its own, not only on the way to another
    };
    void build_hosts();
    Tree build_tree(const WrittenHosts& written);
    void add_part(Tree& tree, const std::string& path, const WrittenPart& line);
    std::optional<std::size_t> enter(Tree& tree, std::optional<std::size_t> parent, std::string_view word,
                                     const std::string& path, bool is_last, const WrittenPart& line);
    void give_slots(Tree& tree);
    void count_buses(const Tree& tree, const std::string& where);

    // describe_topology.cpp
    void write_topology();
    void describe_failures();
    void describe_failure(const WrittenFailure& written);
    std::vector<std::size_t> cables_of(const WrittenFailure& written);
    std::vector<std::size_t> cables_between(const WrittenFailure& written);

    // describe_fabric.cpp
    void build_fabric();
    void add_cables(const WrittenCables& line);
    void add_cable(const WrittenCables& line, std::string name, const std::string& from, const std::string& to);
    std::optional<CableEnd> find_end(const std::string& text, const std::string& where);
    void give_ports();
    bool plug(CableEnd& end, std::size_t cable, unsigned end_number);
    void configure_fabric();

    const Config& config_;
    Written written_;
    Config class_; ///< the defaults of each class of parts
    Description made_;
    std::vector<Settings> host_settings_, switch_settings_, cable_settings_;
    std::vector<std::vector<Settings>> part_settings_;      ///< by host
    std::map<std::string, std::string, std::less<>> taken_; ///< names of hosts, switches and cables, and where they are
    std::vector<Fault> faults_;
};

} // namespace platform::topology
