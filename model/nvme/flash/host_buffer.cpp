#include "model/nvme/flash/host_buffer.h"

#include "abi/nvme/command.h"
#include "abi/nvme/feature.h"
#include "model/nvme/data/crc.h"

#include <algorithm>

namespace model::nvme {

using abi::BusAddress;
using abi::nvme::HostMemoryDescriptor;
using port::Time;

namespace {
constexpr std::uint64_t list_alignment = 16;
constexpr auto size_field = parameter_of<abi::nvme::Command, "cdw12">();
constexpr auto list_field = parameter_of<abi::nvme::Command, "cdw13">();
constexpr auto count_field = parameter_of<abi::nvme::Command, "cdw15">();
} // namespace

/// What was lent before counts again where the host says so; otherwise what lies there is nobody's.
Refusal HostBuffer::enable(const Attributes& attributes, bool is_returned, std::uint32_t page_bytes, Time& at) {
    if (is_on())
        return refuse(Status::command_sequence_error);
    const auto size = std::uint64_t{attributes.pages} * page_bytes;
    if (size == 0 || size < minimum_)
        return refuse(Status::invalid_field, size_field);
    if (attributes.list == 0 || attributes.list % list_alignment != 0)
        return refuse(Status::invalid_field, list_field);
    if (attributes.descriptors == 0 || attributes.descriptors > most_descriptors)
        return refuse(Status::invalid_field, count_field);
    std::vector<std::byte> list(attributes.descriptors * HostMemoryDescriptor::size);
    const auto read = dma_.read(BusAddress{attributes.list}, list, at);
    at = std::max(at, read.done);
    if (!read.is_ok())
        return fail(Status::data_transfer_error);
    std::vector<Place> places;
    std::uint64_t left = size;
    for (std::size_t i = 0; i < list.size(); i += HostMemoryDescriptor::size) {
        const abi::ConstView<HostMemoryDescriptor> descriptor(std::span<const std::byte>(list).subspan(i));
        const auto address = descriptor.get<"badd">(), bytes = std::uint64_t{descriptor.get<"bsize">()} * page_bytes;
        if (address % page_bytes != 0 || bytes == 0 || bytes > left || address + bytes < address)
            return refuse(Status::invalid_field, list_field);
        places.push_back({address, bytes});
        left -= bytes;
    }
    if (left != 0) // the list has less than the size that the command says
        return refuse(Status::invalid_field, size_field);
    if (!is_returned)
        forget();
    attributes_ = attributes;
    places_ = std::move(places);
    lines_ = size / line_bytes;
    return {};
}

Time HostBuffer::disable(Time at) {
    places_.clear();
    return std::max(at, last_);
}

std::uint64_t HostBuffer::address_of(std::uint64_t line) const {
    auto offset = line % lines_ * line_bytes;
    for (const auto& place : places_) { // each has whole lines
        if (offset < place.bytes)
            return place.address + offset;
        offset -= place.bytes;
    }
    return places_.front().address; // not reached: the places have all lines
}

/// The page of flash that has the sector, and a checksum of it that depends on the drive, the sector, and how often the
/// drive has begun anew. NVMe leaves the content to the drive.
std::array<std::byte, HostBuffer::entry_bytes> HostBuffer::entry(std::uint64_t sector) const {
    std::array<std::byte, 24> all;
    abi::store<std::uint64_t, abi::Endian::little>(all.data(), sector);
    abi::store<std::uint64_t, abi::Endian::little>(all.data() + 8, identity_);
    abi::store<std::uint64_t, abi::Endian::little>(all.data() + 16, generation_);
    std::array<std::byte, entry_bytes> bytes;
    abi::store<std::uint32_t, abi::Endian::little>(bytes.data(), static_cast<std::uint32_t>(sector));
    abi::store<std::uint32_t, abi::Endian::little>(bytes.data() + 4, crc32c(all));
    return bytes;
}

HostBuffer::Found HostBuffer::read(std::uint64_t line, Time at) {
    if (!is_on())
        return {at, false};
    std::array<std::byte, line_bytes> bytes;
    const auto result = dma_.read(BusAddress{address_of(line)}, bytes, at);
    last_ = std::max(last_, result.done);
    bytes_ += bytes.size();
    meter_.count(at, at);
    meter_.add_busy(result.done - at);
    bool is_good = result.is_ok();
    for (std::size_t i = 0; i < line_entries && is_good; ++i) {
        const auto expected = entry(line * line_entries + i);
        is_good = std::ranges::equal(expected, std::span(bytes).subspan(i * entry_bytes, entry_bytes));
    }
    ++(is_good ? found_.hits : found_.misses);
    return {std::max(at, result.done), is_good};
}

void HostBuffer::write(std::uint64_t first, std::uint64_t end, Time at) {
    if (!is_on())
        return;
    std::array<std::byte, line_bytes> bytes;
    for (auto sector = first; sector < end; ++sector)
        std::ranges::copy(entry(sector), bytes.begin() + static_cast<std::ptrdiff_t>((sector - first) * entry_bytes));
    const auto written = std::span(bytes).first((end - first) * entry_bytes);
    const auto address = address_of(first / line_entries) + first % line_entries * entry_bytes;
    const auto result = dma_.write(BusAddress{address}, written, at);
    last_ = std::max(last_, result.done);
    bytes_ += written.size();
    ++writes_;
}

} // namespace model::nvme
