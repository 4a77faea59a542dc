#include "testbench/calibrate/figures.h"

#include <stdexcept>
#include <utility>

namespace calibrate {

Measured measured(const Profile& profile, const Traffic& traffic, const Keys& keys) {
    const auto figures = measure(profile.with(keys), traffic);
    if (!figures)
        throw std::runtime_error("the measurement has come to no end");
    return *figures;
}

Measure one(Traffic traffic, double Measured::* figure, double scale, Keys keys) {
    return [traffic, figure, scale, keys = std::move(keys)](const Profile& profile) {
        const auto figures = measured(profile, traffic, keys);
        return Figure{figures.*figure * scale, std::string(figures.bottleneck.view()), figures.load};
    };
}

Measure ratio(Measure first, Measure second) {
    return [first = std::move(first), second = std::move(second)](const Profile& profile) {
        auto figure = first(profile);
        figure.value /= second(profile).value;
        return figure;
    };
}

Measure difference(Measure first, Measure second) {
    return [first = std::move(first), second = std::move(second)](const Profile& profile) {
        auto figure = first(profile);
        figure.value -= second(profile).value;
        return figure;
    };
}

} // namespace calibrate
