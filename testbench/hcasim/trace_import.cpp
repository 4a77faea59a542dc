#include "testbench/hcasim/trace_import.h"

#include "abi/wire/infiniband.h"
#include "platform/importer/dump_trace.h"
#include "testbench/hcasim/roce_bench.h"
#include "testbench/hcasim/trace_files.h"
#include "testbench/hcasim/trace_import_nccl.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"
#include "testbench/program/units.h"
#include "testbench/program/version.h"
#include "traces/codec/writer.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

namespace hcasim {
namespace {

using namespace platform::importer;

struct ImportOptions {
    std::string dump{}, roce{}, out{};
    std::optional<std::uint32_t> flow{};
    NcclImport nccl{};
};

/// The result through the hands of whoever owns its destination.
struct Forward final : traces::codec::Destination {
    TraceResult& result;
    explicit Forward(TraceResult& into) : result(into) {}
    Outcome write(std::span<const std::byte> bytes) override { return result.write(bytes); }
};

int lost(const std::string& why) {
    complain(fmt::format("hcasim: {}\n", why));
    return status::output_lost;
}
int say(const std::string& text) {
    auto out = TraceResult::standard_output();
    static_cast<void>(out.write(std::as_bytes(std::span(text))));
    const auto finished = out.finish();
    return finished ? status::good : lost(finished.error());
}

int import_dumps(const ImportOptions& options) {
    if (const auto apart = is_apart_from(options.dump, "--out", options.out); !apart)
        return refuse(apart.error());
    auto source = traces::codec::FileSource::open(options.dump);
    if (!source)
        return refuse(source.error());
    const auto dumps = read_dumps(*source);
    if (!dumps)
        return refuse(fmt::format("{}: {}", options.dump, dumps.error().text()));
    auto result = TraceResult::create(options.out);
    if (!result)
        return refuse(result.error());
    traces::codec::Writer writer(*result, dump_head(std::string(revision()), options.dump), {});
    const auto counts = write_dumps(*dumps, writer);
    if (!counts)
        return refuse(fmt::format("{}: {}", options.dump, counts.error()));
    if (const auto closed = writer.close(); !closed)
        return lost(closed.error());
    if (const auto finished = result->finish(); !finished)
        return lost(finished.error());
    return say(fmt::format("{} WQEs of {} queue pairs, {} CQEs of {} completion queues, in {} records\n",
                           print_count(counts->wqes), print_count(counts->queue_pairs), print_count(counts->cqes),
                           print_count(counts->completion_queues), print_count(writer.records())));
}

std::string name_of_nak(std::uint8_t code) {
    constexpr std::array<std::string_view, 5> names{"PSN sequence error", "invalid request", "remote access error",
                                                    "remote operational error", "invalid RD request"};
    return code < names.size() ? std::string(names[code]) : fmt::format("code {}", code);
}

std::string report(const Demand& demand, const Answers& answers, std::uint64_t written, const Responder& responder) {
    const auto& losses = answers.losses;
    auto text = fmt::format("requests   {}: {} packets in {} frames, MTU {}, {} keys\n", demand.flow.text(),
                            print_count(demand.packets), print_count(demand.frames), demand.mtu, demand.keys.size());
    if (demand.malformed + demand.cut + demand.bad_icrc != 0)
        text += fmt::format("           {} frames that no port takes, {} payloads cut off (zero now), {} wrong ICRCs "
                            "(right now)\n",
                            demand.malformed, demand.cut, demand.bad_icrc);
    if (losses.gaps != 0 || losses.messages != 0)
        text += fmt::format("           {} gaps of {} packets{}{}; {} messages that are not whole and {} packets are "
                            "left out\n",
                            losses.gaps, losses.missing, losses.frames.empty() ? "" : ", before frames ",
                            fmt::join(losses.frames, ", "), losses.messages, losses.packets);
    if (losses.again != 0)
        text += fmt::format("           {} packets were sent again\n", losses.again);
    text += fmt::format("captured   {} answers, {} of them NAKs\n", print_count(demand.answers), demand.naks);
    text += fmt::format("responder  {}: {} packets, {} ACKs, {} RNR NAKs", responder.part, print_count(answers.sent),
                        print_count(answers.acks), answers.rnr_naks);
    for (const auto& [code, count] : answers.naks)
        text += fmt::format(", {} NAKs ({})", count, name_of_nak(code));
    text += fmt::format(", {} atomics\n           {} written, {} read, {} receives", print_count(answers.atomics),
                        print_bytes(written), print_bytes(answers.read_bytes), print_count(answers.received));
    if (answers.failed_receives != 0)
        text += fmt::format(", {} with errors", print_count(answers.failed_receives));
    return text + "\n";
}

int import_roce(const ImportOptions& options) {
    if (const auto apart = is_apart_from(options.roce, "--out", options.out); !apart)
        return refuse(apart.error());
    if (const auto again = can_be_read_again(options.roce); !again)
        return refuse(again.error());
    const OpenCapture capture = [&] { return CaptureFile::open(options.roce); };
    const auto demand = read_demand(capture, options.flow);
    if (!demand)
        return refuse(fmt::format("{}: {}", options.roce, demand.error()));
    auto result = TraceResult::create(options.out);
    if (!result)
        return refuse(result.error());
    const auto responder = responder_for(*demand);
    WrittenBytes written; // outlives the recording
    platform::record::Recording recording(responder.recording, std::make_unique<Forward>(*result), options.out);
    const auto answers = drive_responder(responder, capture, *demand, recording, written);
    if (!answers)
        return refuse(fmt::format("{}: {}", options.roce, answers.error()));
    if (const auto closed = recording.close(); !closed)
        return lost(closed.error());
    if (const auto finished = result->finish(); !finished)
        return lost(finished.error());
    return say(report(*demand, *answers, written.bytes, responder));
}

} // namespace

void add_import(CLI::App& trace, TraceJob& job) {
    const auto options = std::make_shared<ImportOptions>();
    auto& command = *trace.add_subcommand("import", "Make a recording of what others have recorded");
    auto* dump = command
                     .add_option("--dump", options->dump,
                                 "Log with the WQEs and CQEs that libmlx5 or mlx5_ib have printed (MLX5_DEBUG_MASK)")
                     ->type_name("LOG");
    auto* roce = command
                     .add_option("--roce", options->roce,
                                 "Capture (pcap, pcapng) with the requests of a queue pair: a responder gets and "
                                 "answers them, and the recording is of it")
                     ->type_name("CAPTURE")
                     ->excludes(dump);
    auto* nccl = command
                     .add_option("--nccl", options->nccl.log,
                                 "Log of NCCL or RCCL (NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL): its operations "
                                 "become a list for traffic.replay, and no recording")
                     ->type_name("LOG")
                     ->excludes(dump)
                     ->excludes(roce);
    auto* ranks = command
                      .add_option("--ranks", options->nccl.ranks,
                                  "Hosts or HCAs of its ranks, in their order: A..H, or A.hca0..7, B.hca0..7")
                      ->type_name("NAMES")
                      ->needs(nccl);
    nccl->needs(ranks);
    command
        .add_option("--rate", options->nccl.gbps,
                    "Gbit/s at which each rank is taken to send, since logs have no times")
        ->type_name("GBPS")
        ->check(CLI::Range(0.1, 1e5))
        ->capture_default_str()
        ->needs(nccl);
    command.add_option("--hop-ns", options->nccl.hop_ns, "and what a step takes beside its bytes")
        ->type_name("NS")
        ->check(CLI::Range(0.0, 1e9))
        ->capture_default_str()
        ->needs(nccl);
    command.add_option("--gap-ns", options->nccl.gap_ns, "Nanoseconds between operations, for what is computed there")
        ->type_name("NS")
        ->check(CLI::Range(0.0, 1e11))
        ->capture_default_str()
        ->needs(nccl);
    command.add_option("--out", options->out, "Recording or list to write")->required()->type_name("FILE");
    command.add_option("--flow", options->flow, "Which queue pair's requests, where the capture has several")
        ->type_name("N")
        ->needs(roce);
    command.callback([&job, options, dump, roce, nccl] {
        if (dump->count() + roce->count() + nccl->count() == 0)
            throw CLI::RequiredError("what is to be imported is missing: --dump LOG or --roce CAPTURE or --nccl LOG");
        options->nccl.out = options->out;
        job.run = [options, is_nccl = nccl->count() != 0] {
            return is_nccl                 ? import_nccl(options->nccl)
                   : options->roce.empty() ? import_dumps(*options)
                                           : import_roce(*options);
        };
    });
}

} // namespace hcasim
