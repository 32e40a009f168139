#pragma once

namespace stretto {

/// The operations of a node that have begun and are not over, in the order in which they began. Linked by themselves:
/// to begin takes no memory, which there may not be. Under the node's baton.
class UnderWay {
 public:
  /// Base of what is listed.
  class Member {
    friend class UnderWay;
    Member* before_ = nullptr;
    Member* after_ = nullptr;
  };

  UnderWay() noexcept { ends_.before_ = ends_.after_ = &ends_; }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

  bool empty() const noexcept { return ends_.after_ == &ends_; }

  void add(Member& member) noexcept {
    member.before_ = ends_.before_;
    member.after_ = &ends_;
    ends_.before_->after_ = &member;
    ends_.before_ = &member;
  }
  /// REQUIRES: it is there.
  void remove(Member& member) noexcept {
    member.before_->after_ = member.after_;
    member.after_->before_ = member.before_;
    for (Visitor* visitor = visitors_; visitor != nullptr; visitor = visitor->outer) {
      if (visitor->next == &member) visitor->next = member.after_;
    }
  }

  /// Calls `visit(member)` for each, which may remove any of them: those that are removed meanwhile are left out.
  template <class Visit>
  void for_each(Visit&& visit) {
    Visitor visitor(*this);
    while (visitor.next != &ends_) {
      Member& member = *visitor.next;
      visitor.next = member.after_;
      visit(member);
    }
  }

 private:
  // One `for_each`, which may be within another one.
  struct Visitor {
    explicit Visitor(UnderWay& its_list) noexcept
        : list(its_list), outer(its_list.visitors_), next(its_list.ends_.after_) {
      list.visitors_ = this;
    }
    ~Visitor() { list.visitors_ = outer; }
    Visitor(const Visitor&) = delete;
    Visitor& operator=(const Visitor&) = delete;

    UnderWay& list;
    Visitor* outer;
    Member* next;
  };

  Member ends_;  // before the first one, and after the last one
  Visitor* visitors_ = nullptr;
};

}  // namespace stretto
