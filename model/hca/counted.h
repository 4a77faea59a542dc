// Objects that others refer to, and the references: a member Ref<T> counts its owner among the users of an object as
// long as it refers to it, so that nobody counts by hand. An object that has users does not go. Counting happens when
// software makes, changes and destroys objects; a packet only follows references.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace model::hca {

template <class T> class Ref;

/// Base of what can be referred to. It stays where it was made.
class Counted {
public:
    Counted() = default;
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    ~Counted() { assert(users_ == 0 && "an object goes after those that refer to it"); }

    /// How many references there are.
    std::uint32_t users() const { return users_; }

private:
    template <class> friend class Ref;
    std::uint32_t users_ = 0;
};

/// A reference to an object of type T, which derives from Counted, or to none. T may be incomplete where a reference
/// is declared.
template <class T> class Ref {
public:
    Ref() = default;
    /// nullptr: to none.
    explicit Ref(T* object) : object_(object) {
        if (object_ != nullptr)
            ++counted().users_;
    }
    Ref(const Ref& other) : Ref(other.object_) {}
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Ref& operator=(Ref other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() {
        if (object_ != nullptr)
            --counted().users_;
    }

    T* get() const { return object_; }
    T& operator*() const { return *object_; }
    T* operator->() const { return object_; }
    friend bool operator==(const Ref& ref, std::nullptr_t) { return ref.object_ == nullptr; }

private:
    Counted& counted() const { return *object_; }

    T* object_ = nullptr;
};

} // namespace model::hca
