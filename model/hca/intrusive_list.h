// Lists whose elements carry their links: putting an element in or taking it out takes a few stores, wherever it
// stands, and allocates nothing. An element that may stand in several lists at once derives from one Linked for each,
// told apart by a tag.
#pragma once

#include <cassert>

namespace model::hca {

template <class T, class Which> class List;

template <class T, class Which> class Linked {
public:
    bool is_linked() const { return is_linked_; }

private:
    friend class List<T, Which>;
    T* previous_ = nullptr;
    T* next_ = nullptr;
    bool is_linked_ = false;
};

/// T may be incomplete where the list is declared. An element must be taken out before it is destroyed.
template <class T, class Which> class List {
public:
    bool is_empty() const { return first_ == nullptr; }
    T& front() const {
        assert(first_ != nullptr);
        return *first_;
    }
    void push_back(T& element) {
        auto& own = links(element);
        assert(!own.is_linked_ && "an element stands in one list of a kind");
        own = {};
        own.is_linked_ = true;
        own.previous_ = last_;
        (last_ != nullptr ? links(*last_).next_ : first_) = &element;
        last_ = &element;
    }
    void push_front(T& element) {
        auto& own = links(element);
        assert(!own.is_linked_ && "an element stands in one list of a kind");
        own = {};
        own.is_linked_ = true;
        own.next_ = first_;
        (first_ != nullptr ? links(*first_).previous_ : last_) = &element;
        first_ = &element;
    }
    /// Does nothing for an element that stands in no list of this kind.
    void remove(T& element) {
        auto& own = links(element);
        if (!own.is_linked_)
            return;
        (own.previous_ != nullptr ? links(*own.previous_).next_ : first_) = own.next_;
        (own.next_ != nullptr ? links(*own.next_).previous_ : last_) = own.previous_;
        own = {};
    }
    void clear() {
        while (!is_empty())
            remove(front());
    }
    /// In order. `visit(element)` may take that element out.
    template <class Visit> void for_each(Visit&& visit) const {
        for (auto* element = first_; element != nullptr;) {
            auto* next = links(*element).next_;
            visit(*element);
            element = next;
        }
    }

private:
    static Linked<T, Which>& links(T& element) { return element; }

    T* first_ = nullptr;
    T* last_ = nullptr;
};

} // namespace model::hca
