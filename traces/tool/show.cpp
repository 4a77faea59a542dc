#include "traces/tool/show.h"

#include "traces/tool/describe.h"
#include "traces/tool/names.h"

namespace traces::tool {

Outcome show(codec::Source& trace, const ShowOptions& options, codec::Destination& destination) {
    codec::Reader reader(trace);
    Output output(destination);
    if (const auto opened = reader.open(); !opened)
        return finish(reader, opened.error(), output);
    if (const auto named = has_name(reader.head(), options.filter.function); !named)
        return {.complaint = "--function: " + named.error()};
    std::uint64_t told = 0;
    auto fault = walk(reader, [&](const codec::Record& record, const Seen& seen, const Decoder&) {
        if (options.filter.passes(record, seen, reader.head())) {
            ++told;
            output.line(line_of(record, seen, reader.head()));
            if (options.fields)
                for (const auto& fields : fields_of(seen))
                    output.line(fields);
        }
        return output.is_good() && !options.filter.is_over(record);
    });
    auto outcome = finish(reader, std::move(fault), output);
    outcome.told = told;
    return outcome;
}

} // namespace traces::tool
