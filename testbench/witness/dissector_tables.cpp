// Writes traces/wireshark/hcasim_tables.lua: what the dissector knows of layouts, enumerations, events and constants.
// It has no other source for them; dissector.py compares the file of the repository with what this program writes.
#include "abi/pcie/tlp.h"
#include "abi/print.h"
#include "abi/prm/cq.h"
#include "abi/prm/cqe.h"
#include "abi/prm/doorbell.h"
#include "abi/prm/eq.h"
#include "abi/prm/eqe.h"
#include "abi/prm/init_segment.h"
#include "abi/prm/mkey.h"
#include "abi/prm/pages.h"
#include "abi/prm/qp.h"
#include "abi/prm/uar_pd.h"
#include "abi/prm/wqe.h"
#include "traces/codec/layouts.h"
#include "traces/codec/signal.h"
#include "traces/codec/trace.h"
#include "traces/event.h"

#include <cctype>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

using namespace abi::prm;
namespace codec = traces::codec;

namespace {

/// The enumerator with this value, as the compiler prints it; empty where there is none.
template <auto value> consteval std::string_view enumerator() {
    std::string_view text = __PRETTY_FUNCTION__; // "... [with auto value = abi::pcie::TlpType::memory; ..."
    text = text.substr(text.find("value = ") + 8);
    text = text.substr(0, text.find_first_of(";]"));
    if (text.find('(') != text.npos)
        return {};
    return text.substr(text.rfind(':') + 1);
}

constexpr std::size_t most_plain_value = 127;

/// Rows {value, "text", "enumerator"} of an enumeration, named or not.
template <class E> std::vector<std::string> rows_of() {
    std::vector<std::string> rows;
    const auto add = [&](auto value, std::string_view text, std::string_view id) {
        rows.push_back('{' + std::to_string(static_cast<std::uint64_t>(value)) + ", \"" + std::string(text) +
                       (id == text ? "\"}" : "\", \"" + std::string(id) + "\"}"));
    };
    if constexpr (requires { named(std::type_identity<E>{}); })
        for (const auto& row : named(std::type_identity<E>{}))
            add(row.value, row.text, row.id);
    else
        [&]<std::size_t... n>(std::index_sequence<n...>) {
            const auto one = [&](std::size_t value, std::string_view id) {
                if (!id.empty())
                    add(value, id, id);
            };
            (one(n, enumerator<static_cast<E>(n)>()), ...);
        }(std::make_index_sequence<most_plain_value + 1>());
    return rows;
}

/// The file, in lines that are as long as they may be.
class Output {
public:
    void line(const std::string& text) { text_ += text + '\n'; }
    /// "name = {items}," over as many lines as it takes.
    void list(const std::string& head, const std::vector<std::string>& items) {
        auto row = "    " + head;
        for (const auto& item : items) {
            if (row.size() + item.size() + 4 > widest) {
                line(row);
                row = "       ";
            }
            row += (row.back() == '{' ? "" : " ") + item + ',';
        }
        line(row + "},");
    }
    const std::string& text() const { return text_; }

private:
    static constexpr std::size_t widest = 120;
    std::string text_;
};

class Tables {
public:
    /// Rows {"name", first bit, bits, what}: what is a layout, an enumeration, or "raw". Bits count as big-endian
    /// documents count; of a little-endian layout all rows are whole bytes.
    template <class L> void layout() {
        std::vector<std::string> rows;
        const std::string name(L::name.view());
        L::for_each([&]<class Row>(std::type_identity<Row>) {
            const auto& field = L::fields.at(rows.size());
            auto row = "{\"" + std::string(field.name) + "\", " + std::to_string(first_bit(field)) + ", " +
                       std::to_string(width_in_bits(field));
            const auto key = name + '.' + std::string(field.name);
            if constexpr (requires { typename Row::layout; })
                row += ", layout = \"" + std::string(Row::layout::name.view()) + '"';
            else if (field.kind == abi::FieldKind::raw)
                row += ", raw = true";
            else if constexpr (std::is_enum_v<typename Row::type>)
                row += ", enum = \"" + enumeration<typename Row::type>(key) + '"';
            else if (const auto found = attached_.find(key); found != attached_.end())
                row += ", enum = \"" + found->second + '"';
            rows.push_back(row + '}');
        });
        layouts_.list(name + " = {" + (L::endian == abi::Endian::little ? "little = true, " : "") +
                          "size = " + std::to_string(L::size) + ",",
                      rows);
    }
    template <class... L> void layouts() { (layout<L>(), ...); }
    /// The values of a row that its layout has as a number.
    template <class E> void attach(const std::string& row) { attached_[row] = enumeration<E>(row); }

    template <class E> void event() {
        std::vector<std::string> members{'"' + std::string(E::name) + '"'};
        const auto add = [&](const auto& member) {
            if constexpr (std::is_member_object_pointer_v<decltype(member.pointer)>) {
                using T = std::remove_cvref_t<decltype(std::declval<E>().*member.pointer)>;
                members.push_back("{\"" + std::string(member.name) + "\", " + form<T>() + '}');
            }
        };
        std::apply([&](const auto&... member) { (add(member), ...); }, E::members);
        events_.list("{", members);
    }
    template <class... E> void events(std::type_identity<std::variant<E...>>) { (event<E>(), ...); }

    void constant(const std::string& name, std::uint64_t value) {
        constants_.line("    " + name + " = " + std::to_string(value) + ',');
    }
    void text(const std::string& name, std::string_view value) {
        constants_.line("    " + name + " = \"" + std::string(value) + "\",");
    }

    std::string file() const {
        return "-- Written by testbench/witness/dissector_tables.cpp from abi/ and traces/: not to be edited.\n"
               "return {\nconstants = {\n" +
               constants_.text() + "},\nenumerations = {\n" + enumerations_.text() + "},\nlayouts = {\n" +
               layouts_.text() + "},\nevents = {\n" + events_.text() + "}}\n";
    }

private:
    /// The name of an enumeration: the row that first had it.
    template <class E> std::string enumeration(const std::string& row) {
        const auto [at, is_new] = names_.try_emplace(enumerator_type<E>(), row);
        if (is_new)
            enumerations_.list("[\"" + row + "\"] = {", rows_of<E>());
        return at->second;
    }
    template <class E> static std::string enumerator_type() { return __PRETTY_FUNCTION__; }
    /// How a member is stored: its size, or the name of a table.
    template <class T> std::string form() {
        if constexpr (std::is_same_v<T, std::string_view>)
            return "text = true";
        else if constexpr (std::is_integral_v<T>)
            return std::to_string(sizeof(T));
        else
            return "2, enum = \"" + sentences(std::type_identity<T>{}) + '"';
    }
    template <const auto& texts> std::string sentences(std::type_identity<traces::OneOf<texts>>) {
        const auto name = "reasons" + std::to_string(reasons_.try_emplace(texts.data(), reasons_.size()).first->second);
        if (names_.try_emplace(name, name).second) {
            std::vector<std::string> rows;
            for (std::size_t n = 0; n < texts.size(); ++n)
                rows.push_back('{' + std::to_string(n) + ", \"" + std::string(texts[n]) + "\"}");
            enumerations_.list(name + " = {", rows);
        }
        return name;
    }

    Output constants_, enumerations_, layouts_, events_;
    std::map<std::string, std::string> names_, attached_;
    std::map<const void*, std::size_t> reasons_;
};

void constants(Tables& out) {
    out.constant("format_version", codec::format_version);
    out.constant("enterprise_number", codec::enterprise_number);
    out.text("magic", {reinterpret_cast<const char*>(codec::magic.data()), codec::magic.size()});
    out.constant("by_reference", codec::by_reference);
    out.constant("pasid_prefix_bytes", abi::pcie::pasid_prefix_bytes);
    out.constant("mailbox_data_bytes", mailbox_data_bytes);
    out.constant("uar_page_bytes", uar_page_bytes);
    out.constant("uar_cq_doorbell", uar_cq_doorbell);
    out.constant("uar_eq_arm", uar_eq_arm);
    out.constant("uar_eq_update", uar_eq_update);
    out.constant("uar_bfreg", uar_bfreg);
    out.constant("bf_buffer_bytes", bf_buffer_bytes);
    out.constant("wqe_bb_bytes", wqe_bb_bytes);
    out.constant("wqe_ds_bytes", wqe_ds_bytes);
    out.constant("command_interface_revision", command_interface_revision);
    out.constant("cqe_bytes_128", static_cast<std::uint64_t>(CqeSize::bytes_128));
}

} // namespace

int main() {
    Tables out;
    constants(out);
    out.attach<codec::RecordKind>("record_mark.kind");
    out.attach<codec::Direction>("record_mark.direction");
    out.attach<codec::Signal>("signal.code");
    out.attach<codec::BlockKind>("trace_block.kind");
    out.attach<traces::Access>("event_head.access");
    out.attach<PageFaultSubtype>("page_fault.sub_type");
    out.attach<AccessMode>("mkey.access_mode");
    // clang-format off
    out.layouts<codec::RecordMark, codec::PayloadReference, codec::SignalRecord, codec::EventHead,
                codec::TraceBlock, codec::IdentityBlock, codec::NameBlock, codec::EntryBlock, codec::SyncBlock>();
    using namespace abi::pcie;
    out.layouts<TlpHeader, MemoryRequest32, MemoryRequest64, ConfigRequest, Completion>();
    out.layouts<CommandIn, CommandOut, CommandQueueEntry, CommandMailbox, HealthBuffer, InitialSegment>();
    out.layouts<CqDoorbell, EqDoorbell, SendDoorbell, QpDoorbellRecord, CqDoorbellRecord>();
    out.layouts<WqeCtrl, WqeRaddr, WqeAtomic, WqeData, WqeInline, WqeEth, WqeAv, WqeUmrCtrl, WqeXrc>();
    out.layouts<Cqe64, ErrCqe, Eqe, CompletionEventData, QueueEventData, CqErrorEventData, PortChangeEventData,
                CommandEventData, PageRequestEventData, WqePageFaultEventData, RdmaPageFaultEventData>();
    out.layouts<Eqc, CreateEqIn, CreateEqOut, DestroyEqIn, Cqc, CreateCqIn, CreateCqOut, DestroyCqIn, Mkc, Mtt,
                CreateMkeyIn, CreateMkeyOut, DestroyMkeyIn, Ads, Qpc, CreateQpIn, CreateQpOut, DestroyQpIn,
                Rst2initQpIn, Init2rtrQpIn, Rtr2rtsQpIn, Qp2errIn, Qp2rstIn, QueryPagesIn, QueryPagesOut,
                ManagePagesIn, AllocUarOut, AllocPdOut>();
    // clang-format on
    out.events(std::type_identity<traces::Event>{});
    std::fputs(out.file().c_str(), stdout);
}
