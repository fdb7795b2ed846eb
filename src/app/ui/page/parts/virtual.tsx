import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

export interface Window {
  readonly first: number;
  /** Exclusive. */
  readonly end: number;
}

/** Rows drawn beyond what is visible on either side. */
const margin = 12;

export function windowOf(top: number, height: number, rowHeight: number, count: number): Window {
  const first = Math.max(0, Math.min(count, Math.floor(top / rowHeight) - margin));
  return { first, end: Math.min(count, Math.ceil((top + height) / rowHeight) + margin) };
}

export interface VirtualRows<T extends HTMLElement> {
  /** The element that scrolls. */
  readonly scroller: RefObject<T | null>;
  readonly shown: Window;
  /** Brings a row into view, if it is not. */
  readonly reveal: (index: number) => void;
}

/** Which of `count` rows of one height have to be drawn; `offset` is what stands above them in the scroller. */
export function useVirtualRows<T extends HTMLElement>(
  count: number,
  rowHeight: number,
  offset: number,
): VirtualRows<T> {
  const scroller = useRef<T>(null);
  // Of however many rows: those that come are drawn at once.
  const wanted = useSignal(windowOf(0, innerHeight, rowHeight, Number.POSITIVE_INFINITY));
  useEffect(() => {
    const { current } = scroller;
    if (current === null) return;
    const look = (): void => {
      const { scrollTop, clientHeight } = current;
      const next = windowOf(scrollTop - offset, clientHeight || innerHeight, rowHeight, Number.POSITIVE_INFINITY);
      const before = wanted.peek();
      if (next.first !== before.first || next.end !== before.end) wanted.value = next;
    };
    look();
    current.addEventListener("scroll", look, { passive: true });
    const observer = new ResizeObserver(look);
    observer.observe(current);
    return () => {
      current.removeEventListener("scroll", look);
      observer.disconnect();
    };
  }, [count, rowHeight, offset]);
  const reveal = (index: number): void => {
    const { current } = scroller;
    if (current === null) return;
    const top = offset + index * rowHeight;
    if (top - offset < current.scrollTop) current.scrollTop = Math.max(0, top - offset);
    else if (top + rowHeight > current.scrollTop + current.clientHeight)
      current.scrollTop = top + rowHeight - current.clientHeight + 1;
  };
  const { first, end } = wanted.value;
  return { scroller, shown: { first: Math.min(first, count), end: Math.min(end, count) }, reveal };
}

/** Stands for rows that are not drawn. One cell: more would make columns that narrow screens leave out. */
export const GapRow = ({ height }: { readonly height: number }) =>
  height <= 0 ? null : (
    <tr aria-hidden="true" class="gap" style={{ height: `${height}px` }}>
      <td />
    </tr>
  );
