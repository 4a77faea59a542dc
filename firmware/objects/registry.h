// The objects that the driver has made: gives numbers, knows whose an object is and what it stands on, finds what a
// command may name, and destroys what has no users. Which kinds there are is in firmware/objects/kinds; what objects do
// is in model/hca.
#pragma once

#include "abi/prm/user_context.h"
#include "firmware/objects/account.h"
#include "firmware/objects/id_pool.h"
#include "firmware/objects/kinds.h"
#include "firmware/refusal.h"
#include "model/hca/hca.h"
#include "model/hca/object_table.h"
#include "model/port/time.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace firmware::objects {

/// What a new object needs beside what its attributes name.
struct Footing {
    model::port::Time at{};
    std::uint64_t entries = 0;              ///< of page lists
    std::array<Ref<UserMemory>, 2> umems{}; ///< under its ring and its doorbell record
    Ref<UarPage> uar{};                     ///< of its doorbells
};

class Registry {
public:
    /// Both outlive it.
    Registry(Hca& hca, Account& account) : hca_(hca), account_(account) {}
    ~Registry() { clear(); }
    Registry(const Registry&) = delete;
    Registry& operator=(const Registry&) = delete;

    /// Which numbers there are from now on. There are no objects yet.
    void set_limits(const Limits& limits) {
        for_each_shelf([&]<Kind K>(Shelf<K>& shelf) {
            shelf.set_numbers(Row<K>::numbers(limits));
            if constexpr (requires { Row<K>::users_numbers(limits); })
                shelf.set_users_numbers(Row<K>::users_numbers(limits));
        });
    }
    /// Other numbers for the next objects of a kind.
    void set_numbers(Kind kind, Numbers numbers) {
        for_each_shelf([&]<Kind K>(Shelf<K>& shelf) {
            if (K == kind)
                shelf.set_numbers(numbers);
        });
    }

    /// Makes an object that belongs to user context `uid`; its number, or why there is none. `arguments` are those of
    /// the kind's attributes.
    template <Kind K, class... Arguments>
    std::expected<std::uint32_t, Reply> create(std::uint16_t uid, Footing footing, Arguments&&... arguments) {
        if constexpr (Row<K>::takes_pages)
            if (const auto refused = account_.admit(footing.entries, footing.at))
                return std::unexpected(refused);
        auto& shelf = shelf_of<K>();
        const auto number = shelf.take(uid);
        if (!number)
            return std::unexpected(Row<K>::none_left);
        shelf.make(hca_, *number, std::forward<Arguments>(arguments)...);
        shelf.holdings.create(*number, Holding{.uid = uid,
                                               .entries = footing.entries,
                                               .context = Ref(context(uid)),
                                               .umems = std::move(footing.umems),
                                               .uar = std::move(footing.uar)});
        if constexpr (Row<K>::takes_pages)
            account_.charge(footing.entries, footing.at);
        return *number;
    }

    /// The object with this number, whosever it is, or nullptr.
    template <Kind K> Object<K>* find(std::uint32_t number) const { return shelf_of<K>().find(hca_, number); }
    /// The same if a command of user context `uid` may name it. The kernel, which also makes the shared ones, may name
    /// all; to a user context the objects of others do not exist (PRM "User context").
    template <Kind K> Object<K>* find(std::uint16_t uid, std::uint32_t number) const {
        if (Row<K>::is_everybodys || uid == 0 || uid == abi::prm::shared_uid)
            return find<K>(number);
        const auto* holding = shelf_of<K>().holdings.find(number);
        const bool is_seen = holding != nullptr && (holding->uid == uid || holding->uid == abi::prm::shared_uid);
        return is_seen ? find<K>(number) : nullptr;
    }

    /// Destroys an object that `uid` may name and nothing refers to; otherwise says why not. What no driver made is
    /// unknown here.
    template <Kind K> Reply destroy(std::uint16_t uid, std::uint32_t number, model::port::Time at) {
        auto& shelf = shelf_of<K>();
        const auto* object = find<K>(uid, number);
        const auto* holding = shelf.holdings.find(number);
        if (object == nullptr || holding == nullptr)
            return Row<K>::unknown;
        if constexpr (std::is_base_of_v<Counted, Object<K>>)
            if (object->users() != 0)
                return Row<K>::in_use;
        if constexpr (Row<K>::takes_pages)
            account_.release(holding->entries);
        shelf.unmake(hca_, number, at);
        shelf.holdings.destroy(number);
        shelf.give_back(number);
        return accepted;
    }

    /// The object's page list has another length now. The caller has asked before whether it fits.
    template <Kind K> void resize(std::uint32_t number, std::uint64_t entries, model::port::Time at) {
        auto* holding = shelf_of<K>().holdings.find(number);
        assert(holding != nullptr && "only what was made");
        account_.release(std::exchange(holding->entries, entries));
        account_.charge(entries, at);
    }

    /// The core has dropped its objects: those of the firmware go, too, and there are no numbers until new limits are
    /// set.
    void clear() {
        for_each_shelf([](auto& shelf) { shelf.holdings.clear(); }); // they refer to objects of every kind
        for_each_shelf([](auto& shelf) {
            shelf.own.clear();
            shelf.numbers = shelf.users_numbers = {};
        });
    }

    struct Count {
        Kind kind;
        std::string_view name;
        bool takes_pages;
        /// Numbers given out, objects that somebody holds, objects in place: the largest of them, if they disagree.
        std::size_t objects;
        bool agrees; ///< otherwise something leaked
    };
    /// By kind.
    std::array<Count, kinds> counts() const {
        return std::apply([&](const auto&... shelf) { return std::array<Count, kinds>{shelf.count(hca_)...}; },
                          shelves_);
    }
    std::size_t count(Kind kind) const { return counts()[static_cast<std::size_t>(kind)].objects; }

private:
    /// What is known of an object beside its attributes.
    struct Holding {
        std::uint16_t uid = 0; ///< 0: the kernel's
        std::uint64_t entries = 0;
        Ref<UserContext> context; ///< none of the kernel's objects has one
        std::array<Ref<UserMemory>, 2> umems{};
        Ref<UarPage> uar{};
    };

    /// The objects of a kind.
    template <Kind K> struct Shelf {
        static constexpr bool is_cores = KeptByCore<Row<K>>;
        struct Elsewhere {};

        IdPool numbers, users_numbers;
        model::hca::ObjectTable<Holding> holdings;
        model::hca::ObjectTable<std::conditional_t<is_cores, Elsewhere, Object<K>>> own;

        void set_numbers(Numbers range) { numbers = {range.first, range.count()}; }
        void set_users_numbers(Numbers range) { users_numbers = {range.first, range.count()}; }
        /// For an object of that context. What the kernel makes never has a number of users'.
        std::optional<std::uint32_t> take(std::uint16_t uid) {
            if (uid != 0 && uid != abi::prm::shared_uid)
                if (const auto number = users_numbers.take())
                    return number;
            return numbers.take();
        }
        void give_back(std::uint32_t number) {
            (users_numbers.has(number) ? users_numbers : numbers).give_back(number);
        }
        auto& table(Hca& hca) {
            if constexpr (is_cores)
                return Row<K>::table(hca);
            else
                return own;
        }
        Object<K>* find(Hca& hca, std::uint32_t number) const {
            if constexpr (is_cores)
                return Row<K>::table(hca).find(number);
            else
                return own.find(number);
        }
        template <class... Arguments> void make(Hca& hca, std::uint32_t number, Arguments&&... arguments) {
            if constexpr (requires { &Row<K>::make; })
                Row<K>::make(hca, number, std::forward<Arguments>(arguments)...);
            else
                table(hca).create(number, std::forward<Arguments>(arguments)...);
        }
        void unmake(Hca& hca, std::uint32_t number, model::port::Time at) {
            if constexpr (requires { &Row<K>::unmake; })
                Row<K>::unmake(hca, number, at);
            else
                table(hca).destroy(number);
        }
        Count count(Hca& hca) const {
            std::size_t placed = own.count();
            if constexpr (is_cores)
                placed = Row<K>::table(hca).count() - Row<K>::built_in;
            const std::size_t given = numbers.in_use() + users_numbers.in_use(), held = holdings.count();
            return {K, Row<K>::name, Row<K>::takes_pages, std::max({given, held, placed}),
                    given == held && held == placed};
        }
    };

    template <class> struct ShelfOfEach;
    template <std::size_t... I> struct ShelfOfEach<std::index_sequence<I...>> {
        using type = std::tuple<Shelf<static_cast<Kind>(I)>...>;
    };

    template <Kind K> Shelf<K>& shelf_of() { return std::get<static_cast<std::size_t>(K)>(shelves_); }
    template <Kind K> const Shelf<K>& shelf_of() const { return std::get<static_cast<std::size_t>(K)>(shelves_); }
    template <class F> void for_each_shelf(F&& f) {
        std::apply([&](auto&... shelf) { (f(shelf), ...); }, shelves_);
    }
    UserContext* context(std::uint16_t uid) const { return uid != 0 ? find<Kind::user_context>(uid) : nullptr; }

    Hca& hca_;
    Account& account_;
    typename ShelfOfEach<std::make_index_sequence<kinds>>::type shelves_;
};

/// In whose name a command is executed: which objects it may name, and to whom belongs what it makes.
class Scope {
public:
    Scope(Registry& registry, std::uint16_t uid) : registry_(&registry), uid_(uid) {}

    std::uint16_t uid() const { return uid_; }
    template <Kind K> Object<K>* find(std::uint32_t number) const { return registry_->find<K>(uid_, number); }
    template <Kind K, class... Arguments>
    std::expected<std::uint32_t, Reply> create(Footing footing, Arguments&&... arguments) const {
        return registry_->create<K>(uid_, std::move(footing), std::forward<Arguments>(arguments)...);
    }
    template <Kind K> Reply destroy(std::uint32_t number, model::port::Time at) const {
        return registry_->destroy<K>(uid_, number, at);
    }

private:
    Registry* registry_;
    std::uint16_t uid_;
};

} // namespace firmware::objects
