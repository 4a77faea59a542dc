// Mean, spread and confidence interval of a few values. The distribution is Student's, from Boost.Math.
#pragma once

#include <cstddef>
#include <span>

namespace study {

struct Summary {
    std::size_t count = 0;
    double mean = 0;
    double deviation = 0;  ///< standard deviation of the sample; 0 of one value
    double half_width = 0; ///< of the confidence interval of the mean; 0 of one value, which has none
    double least = 0, most = 0;
};

/// `confidence` in (0, 1): 0.95.
Summary summarise(std::span<const double> values, double confidence);

/// The probability that Fisher's F is at least `ratio` by chance; both degrees of freedom are 1 or more.
double chance_of_ratio(double ratio, double between, double within);

} // namespace study
