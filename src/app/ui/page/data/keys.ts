import { signal } from "@preact/signals";
import { settings } from "./settings.ts";
import { clock } from "./time.ts";

export interface KeyBinding {
  /** `j`, `g r`, `Escape`, `Ctrl+k`. */
  readonly keys: string;
  readonly label: string;
  /** Returns false if there is nothing to do, so that the browser's own meaning stays. */
  readonly run: () => boolean | void;
}

/** Bindings of what is on the screen; later ones win. */
export const bindings = signal<readonly KeyBinding[]>([]);

/** Returns what takes them away. */
export function bindKeys(added: readonly KeyBinding[]): () => void {
  bindings.value = [...bindings.peek(), ...added];
  return () => {
    bindings.value = bindings.peek().filter((one) => !added.includes(one));
  };
}

const sequenceMs = 1500;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));

export function nameOfKey(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">): string {
  const key = event.key.length === 1 && (event.ctrlKey || event.metaKey) ? event.key.toLowerCase() : event.key;
  return `${event.ctrlKey || event.metaKey ? "Ctrl+" : ""}${event.altKey ? "Alt+" : ""}${key}`;
}

/** Named keys and those with Ctrl work with single letters switched off, and Ctrl also while typing. */
export function listenToKeys(): void {
  let prefix = "";
  let forget = (): void => undefined;
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const name = nameOfKey(event);
    const isCommand = name.startsWith("Ctrl+");
    if (isTyping(event.target) && !isCommand) return;
    if (document.querySelector("dialog[open]") !== null && !isCommand) return;
    if (event.key.length === 1 && !isCommand && settings.keys.peek() === "off") return;
    const candidates = [prefix === "" ? "" : `${prefix} ${name}`, name].filter(Boolean);
    forget();
    prefix = "";
    for (const keys of candidates) {
      const found = bindings.peek().findLast((one) => one.keys === keys);
      if (found !== undefined && found.run() !== false) return event.preventDefault();
    }
    if (bindings.peek().some(({ keys }) => keys.startsWith(`${name} `))) {
      prefix = name;
      forget = clock.after(sequenceMs, () => {
        prefix = "";
      });
    }
  });
}
