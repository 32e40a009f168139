#pragma once

namespace stretto {

/// Objects linked by their own `next`, oldest first. Empty: both null.
template <class T>
struct Linked {
  T* first = nullptr;
  T* last = nullptr;
};

/// Turns round a list that grew at its head, as lists that many threads push to do. Null gives an empty one.
template <class T>
Linked<T> oldest_first(T* newest) noexcept {
  Linked<T> list{nullptr, newest};
  while (newest != nullptr) {
    T* const older = newest->next;
    newest->next = list.first;
    list.first = newest;
    newest = older;
  }
  return list;
}

}  // namespace stretto
