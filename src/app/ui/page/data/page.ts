import { signal } from "@preact/signals";
import type { Instant } from "#lib/base/index.ts";
import { clock } from "./time.ts";

/** What the shown view offers to the frame: its command line, its reference, its actions. */
export interface PageOffer {
  readonly title: string;
  /** The `slipway` or `kubectl` command that shows the same. */
  readonly command?: string;
  readonly reference?: string;
}

export const offer = signal<PageOffer>({ title: "" });

/** A thing that the palette can do. */
export interface PaletteEntry {
  readonly label: string;
  readonly hint?: string;
  readonly run: () => void;
}

/** Of what is shown, one list for each part that offers some. */
export const pageEntries = signal<readonly (readonly PaletteEntry[])[]>([]);

/** What screen readers say next; read by one live region of the frame. */
export const announcement = signal("");

const restMs = 5000;
let saidAt: Instant = Number.NEGATIVE_INFINITY;
let cancel = (): void => undefined;

/** At most once in five seconds: of what comes in between, the last is said. */
export function announce(text: string): void {
  cancel();
  const say = (): void => {
    saidAt = clock.monotonic();
    announcement.value = text;
  };
  const left = saidAt + restMs - clock.monotonic();
  if (left <= 0) say();
  else cancel = clock.after(left, say);
}

/** What a person has just done and the page does not show; disappears by itself. */
export const confirmation = signal("");

const shownMs = 4000;
let hide = (): void => undefined;

/** What a person has just done is said at once. */
export function confirmAloud(text: string): void {
  announcement.value = text;
}

/** As `confirmAloud`, and shown for a while. */
export function confirm(text: string): void {
  confirmAloud(text);
  hide();
  confirmation.value = text;
  hide = clock.after(shownMs, () => {
    confirmation.value = "";
  });
}

export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    confirm(`Copied the ${what}: ${text}`);
  } catch {
    confirm(`The browser does not allow copying. The ${what}: ${text}`);
  }
}
