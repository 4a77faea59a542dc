#include "sw/transport/vfio_user/transport.h"

#include "sw/transport/capabilities.h"

#include <fmt/format.h>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <thread>

namespace sw::transport::vfio_user {

using abi::pcie::MemoryBar;
using protocol::IrqType;

namespace {

/// How long a call that cannot succeed any more takes, so that loops around it do not burn a processor.
constexpr std::chrono::milliseconds pause_when_dead{1};

/// Memory in a file that the server maps too. It must be sure that the file stays as long as it is.
class FileChunk final : public DmaChunk {
public:
    FileChunk(Connection& connection, std::uint64_t bus, Mapping mapping)
        : connection_(connection), bus_(bus), mapping_(std::move(mapping)) {}
    ~FileChunk() override { (void)unmap(connection_, bus_, mapping_.bytes().size()); }
    std::span<std::byte> bytes() const override { return mapping_.bytes(); }

private:
    Connection& connection_;
    std::uint64_t bus_;
    Mapping mapping_;
};

std::uint16_t bar_register(std::size_t bar) { return static_cast<std::uint16_t>(abi::pcie::bar_offset + 4 * bar); }

} // namespace

// --- begin and end ---

Result<std::unique_ptr<SocketTransport>> SocketTransport::connect(const std::string& path, BusMap& bus,
                                                                  Options options) {
    auto socket = Socket::connect(path);
    if (!socket)
        return failure(socket.error().code,
                       fmt::format("{}: {}; is there a server (hcasim serve PLATFORM.toml --socket-dir DIR)?", path,
                                   socket.error().what));
    return open(std::move(*socket), path, bus, options);
}

Result<std::unique_ptr<SocketTransport>> SocketTransport::open(Socket socket, std::string name, BusMap& bus,
                                                               Options options) {
    auto connection = Connection::open(std::move(socket), std::move(name), options);
    if (!connection)
        return std::unexpected(connection.error());
    std::unique_ptr<SocketTransport> transport(new SocketTransport(std::move(*connection), bus, options));
    if (auto up = transport->bring_up(); !up)
        return std::unexpected(up.error());
    return transport;
}

SocketTransport::SocketTransport(std::unique_ptr<Connection> connection, BusMap& bus, Options options)
    : options_(options), connection_(std::move(connection)), bus_(bus),
      pool_(std::make_unique<DmaPool>(
          addresses_, [this](std::uint64_t address, std::size_t size) { return make_chunk(address, size); })) {
    connection_->memory = [this](std::uint64_t address, std::uint64_t size) { return pool_->find(address, size); };
}

SocketTransport::~SocketTransport() {
    disable_interrupts();
    for (const auto& bar : bars_)
        if (bar.size != 0)
            bus_.remove(bar.address);
}

Result<void> SocketTransport::bring_up() {
    const auto info = get_info(*connection_);
    if (!info)
        return std::unexpected(info.error());
    if (info->regions <= protocol::config_region)
        return failure(EPROTO, fmt::format("{}: the server offers {} regions, configuration space is number {}",
                                           connection_->name(), info->regions, protocol::config_region));
    can_reset_ = info->can_reset;
    if (can_reset_)
        if (auto fresh = vfio_user::reset(*connection_); !fresh)
            return fresh;
    if (auto found = find_bars(); !found)
        return found;
    return write_addresses();
}

Result<void> SocketTransport::reset() {
    if (!can_reset_)
        return failure(ENOTSUP, connection_->name() + ": the server cannot reset the function; connect anew instead");
    if (auto done = vfio_user::reset(*connection_); !done)
        return done;
    return write_addresses();
}

Result<void> SocketTransport::find_bars() {
    for (std::uint32_t i = 0; i < bars_.size(); ++i) {
        auto region = get_region(*connection_, i);
        if (!region)
            return std::unexpected(region.error());
        abi::Block<MemoryBar> bar;
        abi::store<std::uint32_t, abi::Endian::little>(bar.bytes.data(), config_read(bar_register(i), 4));
        if (region->size == 0 || bar.view().get<"is_io">())
            continue;
        const bool is_64bit = bar.view().get<"type">() == abi::pcie::bar_type_64;
        const auto address = std::has_single_bit(region->size)
                                 ? bus_.place(region->size, is_64bit)
                                 : failure(EPROTO, fmt::format("its size, {:#x}, is no power of two", region->size));
        if (!address)
            return failure(address.error().code,
                           fmt::format("{}: no address for BAR {}: {}", connection_->name(), i, address.error().what));
        bars_[i] = {region->size, *address, is_64bit, {}};
        for (const auto& [offset, size] : region->areas) {
            if (!region->file || offset > region->size || size > region->size - offset)
                continue; // what cannot be mapped goes by messages
            auto memory = Mapping::create(size, PROT_READ | PROT_WRITE, region->file.number(), region->offset + offset);
            if (memory)
                bars_[i].memory.push_back({offset, std::move(memory)});
        }
    }
    return {};
}

Result<void> SocketTransport::write_addresses() {
    for (std::size_t i = 0; i < bars_.size(); ++i) {
        if (bars_[i].size == 0)
            continue;
        config_write(bar_register(i), 4, static_cast<std::uint32_t>(bars_[i].address));
        if (bars_[i].is_64bit)
            config_write(bar_register(i + 1), 4, static_cast<std::uint32_t>(bars_[i].address >> 32));
    }
    if (!is_alive())
        return std::unexpected(fault());
    return {};
}

// --- configuration and registers ---

std::uint32_t SocketTransport::config_read(std::uint16_t offset, unsigned bytes) {
    std::array<std::byte, 4> data{};
    (void)read(*connection_, protocol::config_region, offset, std::span(data).first(std::min<std::size_t>(bytes, 4)));
    return abi::load<std::uint32_t, abi::Endian::little>(data.data());
}

void SocketTransport::config_write(std::uint16_t offset, unsigned bytes, std::uint32_t value) {
    std::array<std::byte, 4> data;
    abi::store<std::uint32_t, abi::Endian::little>(data.data(), value);
    (void)write(*connection_, protocol::config_region, offset, std::span(data).first(std::min<std::size_t>(bytes, 4)),
                false);
}

bool SocketTransport::has_range(unsigned bar, std::uint64_t offset, std::size_t size) const {
    return bar < bars_.size() && offset <= bars_[bar].size && size <= bars_[bar].size - offset;
}

std::span<std::byte> SocketTransport::mapped(unsigned bar, std::uint64_t offset, std::size_t size) const {
    // Memory of a server that has gone is still there; its function is not.
    if (!has_range(bar, offset, size) || !is_alive())
        return {};
    for (const auto& part : bars_[bar].memory)
        if (const auto bytes = part.memory.bytes(); offset >= part.offset && offset - part.offset <= bytes.size() &&
                                                    size <= bytes.size() - (offset - part.offset))
            return bytes.subspan(offset - part.offset, size);
    return {};
}

void SocketTransport::mmio_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into) {
    if (const auto memory = mapped(bar, offset, into.size()); !memory.empty())
        std::ranges::copy(memory, into.begin());
    else if (has_range(bar, offset, into.size()))
        (void)read(*connection_, bar, offset, into);
    else
        std::ranges::fill(into, std::byte{0xff});
}

void SocketTransport::mmio_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) {
    if (const auto memory = mapped(bar, offset, from.size()); !memory.empty())
        std::ranges::copy(from, memory.begin());
    else if (has_range(bar, offset, from.size()))
        (void)write(*connection_, bar, offset, from, options_.posted_writes);
}

void SocketTransport::bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into) {
    mmio_read(bar, offset, into);
}

void SocketTransport::bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) {
    mmio_write(bar, offset, from);
}

// --- memory ---

Result<std::unique_ptr<DmaChunk>> SocketTransport::make_chunk(std::uint64_t bus, std::size_t size) {
    File file(::memfd_create("dma", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file || ::ftruncate(file.number(), static_cast<off_t>(size)) != 0 ||
        ::fcntl(file.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return system_failure(fmt::format("a memory file of {} bytes", size));
    auto mapping = Mapping::create(size, PROT_READ | PROT_WRITE, file.number(), 0);
    if (!mapping)
        return system_failure(fmt::format("map a memory file of {} bytes", size));
    if (auto shared = map(*connection_, bus, size, file.number()); !shared)
        return std::unexpected(shared.error());
    return std::make_unique<FileChunk>(*connection_, bus, std::move(mapping));
}

Result<DmaMemory> SocketTransport::allocate(std::size_t bytes, std::size_t alignment) {
    return pool_->allocate(bytes, alignment);
}

Result<std::uint64_t> SocketTransport::map_peer(std::uint64_t bus, std::size_t bytes) {
    if (bus_.find(bus, bytes))
        return bus;
    return failure(EINVAL,
                   fmt::format("{}: map {:#x}+{:#x}: no function of this machine has that range in a BAR; open the "
                               "peer with the same bus",
                               connection_->name(), bus, bytes));
}

Result<std::uint64_t> SocketTransport::map_memory(const DmaMemory& memory) {
    const auto own = pool_->find(memory.bus, memory.size);
    if (own.data() == memory.data && !own.empty())
        return memory.bus;
    return failure(EOPNOTSUPP, fmt::format("{}: map {:#x}+{:#x}: memory of another function's connection, which this "
                                           "function does not reach",
                                           connection_->name(), memory.bus, memory.size));
}

// --- interrupts ---

Result<void> SocketTransport::enable_interrupts(unsigned count) {
    disable_interrupts();
    const auto available = get_irqs(*connection_, IrqType::msix);
    if (!available)
        return std::unexpected(available.error());
    if (count > *available)
        return failure(EINVAL, fmt::format("{}: enable {} MSI-X vectors: the function has {}", connection_->name(),
                                           count, *available));
    auto made = Interrupts::create(count);
    if (!made)
        return std::unexpected(made.error());
    interrupts_ = std::move(*made);
    if (auto set = vfio_user::set_irqs(*connection_, IrqType::msix, interrupts_->files()); !set) {
        interrupts_.reset();
        return set;
    }
    set_msix(true);
    return {};
}

/// The table is the server's business: it has been told where the vectors go. The function still wants its bit.
void SocketTransport::set_msix(bool is_enabled) {
    const auto at = find_capability(*this, abi::pcie::CapabilityId::msix);
    if (at == 0)
        return;
    abi::Block<abi::pcie::MsixCapability> block;
    abi::store<std::uint32_t, abi::Endian::little>(block.bytes.data(), config_read(at, 4));
    block.view().set<"enable">(is_enabled).set<"function_mask">(false);
    config_write(at, 4, abi::load<std::uint32_t, abi::Endian::little>(block.bytes.data()));
}

void SocketTransport::disable_interrupts() {
    if (!interrupts_)
        return;
    set_msix(false);
    (void)clear_irqs(*connection_, IrqType::msix);
    interrupts_.reset();
}

bool SocketTransport::wait_interrupt(unsigned vector, std::chrono::nanoseconds timeout) {
    const auto deadline = now() + timeout;
    while (interrupts_ && is_alive()) {
        const auto waited = interrupts_->wait(vector, deadline - now(), connection_->file());
        if (waited != Interrupts::Waited::other)
            return waited == Interrupts::Waited::raised;
        connection_->look();
    }
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(timeout, pause_when_dead));
    return false;
}

void SocketTransport::relax() {
    if (rest_.take(connection_->file()))
        connection_->look();
}

} // namespace sw::transport::vfio_user
