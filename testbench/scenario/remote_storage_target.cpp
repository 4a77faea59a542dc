// Host A's program: a target.
#include "testbench/scenario/remote_storage.h"

#include "testbench/workload/drive_server.h"

namespace scenario {

namespace {

/// What B asks for by its messages. Returns whether it has gone.
sw::Result<bool> listen(OutOfBand& peer, sw::nvmf::Target& target) {
    if (!peer.has_something())
        return false;
    RemoteMessage message;
    if (!peer.receive_value(message))
        return true;
    if (message.kind == RemoteMessage::Kind::disconnect)
        target.disconnect(message.request.peer);
    else
        peer.send_value(target.accept(message.request));
    return false;
}

} // namespace

sw::Result<void> serve_drive(const RemoteMachine& machine, const RemoteOptions& options, RemoteReport& report) {
    auto server =
        workload::DriveServer::open(machine.cards, {.memory = options.buffers,
                                                    .command_bytes = options.command_bytes,
                                                    .queue_depth = options.queue_depth,
                                                    .queues = options.queues,
                                                    .connection = {.path_mtu = workload::mtu_of(options.mtu_bytes)}});
    if (!server)
        return std::unexpected(server.error());
    auto& target = (*server)->target();
    report.target = &target;
    for (;;) {
        const auto has_gone = listen(machine.peer, target);
        if (!has_gone)
            return std::unexpected(has_gone.error());
        if (*has_gone)
            break;
        target.poll();
        machine.cards.hca->relax();
    }
    report.target = nullptr;
    return (*server)->close();
}

} // namespace scenario
