import { effect, type Signal, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark" | "contrast";
export type Density = "compact" | "comfortable";

export interface Settings {
  readonly theme: Signal<Theme>;
  readonly density: Signal<Density>;
  /** IANA name; empty is the browser's own. */
  readonly zone: Signal<string>;
  readonly times: Signal<"relative" | "absolute">;
  /** `off`: single letters do nothing. */
  readonly keys: Signal<"on" | "off">;
}

const prefix = "slipway.";

/** A signal that this browser remembers. Storage that is forbidden or full is as good as none. */
function remembered<T extends string>(name: string, initial: T, isValid: (text: string) => text is T): Signal<T> {
  let stored: string | null = null;
  try {
    stored = localStorage.getItem(prefix + name);
  } catch {
    // Private windows may forbid it.
  }
  const value = signal<T>(stored !== null && isValid(stored) ? stored : initial);
  effect(() => {
    try {
      localStorage.setItem(prefix + name, value.value);
    } catch {
      // As above: the setting lasts as long as the page.
    }
  });
  return value;
}

const oneOf =
  <T extends string>(...allowed: readonly T[]) =>
  (text: string): text is T =>
    allowed.some((one) => one === text);

function isZone(text: string): text is string {
  if (text === "") return true;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: text }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

export const settings: Settings = {
  theme: remembered("theme", "system", oneOf<Theme>("system", "light", "dark", "contrast")),
  density: remembered("density", "comfortable", oneOf<Density>("compact", "comfortable")),
  zone: remembered("zone", "", isZone),
  times: remembered("times", "relative", oneOf<"relative" | "absolute">("relative", "absolute")),
  keys: remembered("keys", "on", oneOf<"on" | "off">("on", "off")),
};

/** Height of one row of tables and trees, as in style/tokens.css. */
export const rowHeight = (): number => (settings.density.value === "compact" ? 28 : 36);

/** Puts the settings where the style sheets look for them. */
export function showSettings(root: HTMLElement): void {
  effect(() => {
    root.dataset["theme"] = settings.theme.value;
    root.dataset["density"] = settings.density.value;
  });
}
