import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { bindKeys, type KeyBinding } from "../data/keys.ts";
import { offer, pageEntries, type PageOffer, type PaletteEntry } from "../data/page.ts";

/** Keys that work while the component is shown. `run` is always the one of the last drawing. */
export function useKeys(own: readonly KeyBinding[]): void {
  const latest = useRef(own);
  latest.current = own;
  const names = own.map(({ keys }) => keys).join("|");
  useEffect(
    () =>
      bindKeys(
        latest.current.map(({ keys, label }, index) => ({ keys, label, run: () => latest.current[index]?.run() })),
      ),
    [names],
  );
}

let isFirstPage = true;

/**
 * Title, command and reference of the page. Where a page begins, keyboards and screen readers begin; not when the first
 * page opens.
 */
export function useOffer({ title, command, reference }: PageOffer): void {
  useEffect(() => {
    if (!isFirstPage) document.querySelector<HTMLElement>("main h1")?.focus({ preventScroll: true });
    isFirstPage = false;
  }, []);
  useEffect(() => {
    offer.value = {
      title,
      ...(command === undefined ? {} : { command }),
      ...(reference === undefined ? {} : { reference }),
    };
    document.title = title === "" ? "Slipway" : `${title} · Slipway`;
  }, [title, command, reference]);
}

/** What the palette can do while the component is shown. `run` is always the one of the last drawing. */
export function usePaletteEntries(entries: readonly PaletteEntry[]): void {
  const latest = useRef(entries);
  latest.current = entries;
  const names = entries.map(({ label }) => label).join("|");
  useEffect(() => {
    const own = latest.current.map((entry, index) => ({ ...entry, run: () => latest.current[index]?.run() }));
    pageEntries.value = [...pageEntries.peek(), own];
    return () => {
      pageEntries.value = pageEntries.peek().filter((one) => one !== own);
    };
  }, [names]);
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The size of an element, followed. */
export function useSize<T extends Element>(): readonly [RefObject<T | null>, Size] {
  const element = useRef<T>(null);
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useEffect(() => {
    const { current } = element;
    if (current === null) return;
    const observer = new ResizeObserver(() => setSize({ width: current.clientWidth, height: current.clientHeight }));
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return [element, size];
}
