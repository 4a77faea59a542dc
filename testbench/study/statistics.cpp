#include "testbench/study/statistics.h"

#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace study {

namespace {

/// Double is exact enough, and valgrind, which has no 80-bit numbers, can run the program: with the library's own
/// choice it overflows before main().
using Policy = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
using StudentsT = boost::math::students_t_distribution<double, Policy>;
using FisherF = boost::math::fisher_f_distribution<double, Policy>;

} // namespace

Summary summarise(std::span<const double> values, double confidence) {
    Summary summary{.count = values.size()};
    if (values.empty())
        return summary;
    const auto count = static_cast<double>(values.size());
    summary.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    summary.least = *std::ranges::min_element(values);
    summary.most = *std::ranges::max_element(values);
    if (values.size() < 2)
        return summary;
    double squares = 0;
    for (const auto value : values)
        squares += (value - summary.mean) * (value - summary.mean);
    summary.deviation = std::sqrt(squares / (count - 1));
    const StudentsT distribution(count - 1);
    const auto quantile = boost::math::quantile(boost::math::complement(distribution, (1 - confidence) / 2));
    summary.half_width = quantile * summary.deviation / std::sqrt(count);
    return summary;
}

double chance_of_ratio(double ratio, double between, double within) {
    if (!std::isfinite(ratio))
        return 0;
    return boost::math::cdf(boost::math::complement(FisherF(between, within), std::max(0.0, ratio)));
}

} // namespace study
