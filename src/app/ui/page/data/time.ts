import { effect, signal } from "@preact/signals";
import { type Instant, type Millis, systemClock } from "#lib/base/index.ts";

export const clock = systemClock;

/** How far the server's clock is ahead of this machine's. Measured once per connection. */
export const skew = signal<Millis>(0);

/** The server's time when its answer was made, and ours around the request: half of the way each. */
export function measureSkew(serverNow: Instant, sentAt: Instant, receivedAt: Instant): void {
  const found = Math.round(serverNow - (sentAt + receivedAt) / 2);
  // Smaller differences are the way of the answer, not the clock.
  skew.value = Math.abs(found) < 1000 ? 0 : found;
}

/** The server's clock, once a second while the page is visible. */
export const now = signal<Instant>(clock.now());

export const serverNow = (): Instant => clock.now() + skew.peek();

/** Keeps `now` running until the page ends. */
export function keepTime(): void {
  const tick = (): void => {
    if (!document.hidden) now.value = serverNow();
    clock.after(1000 - (clock.now() % 1000), tick);
  };
  tick();
  document.addEventListener("visibilitychange", () => {
    now.value = serverNow();
  });
  effect(() => {
    now.value = clock.now() + skew.value;
  });
}

/** `0.4s`, `12s`, `3m 05s`, `2h 14m`, `5d 03h`: two units, for durations that stand in columns. */
export function formatSpan(span: Millis): string {
  const ms = Math.max(0, span);
  if (ms < 1000) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`;
  const seconds = Math.floor(ms / 1000);
  const two = (count: number): string => String(count).padStart(2, "0");
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h ${two(Math.floor(seconds / 60) % 60)}m`;
  return `${Math.floor(seconds / 86_400)}d ${two(Math.floor(seconds / 3600) % 24)}h`;
}

/** `just now`, `3m ago`, `in 2h`: the largest unit only. */
export function formatRelative(at: Instant, from: Instant): string {
  const seconds = Math.round((from - at) / 1000);
  const far = Math.abs(seconds);
  if (far < 5) return "just now";
  const amount =
    far < 60
      ? `${far}s`
      : far < 3600
        ? `${Math.floor(far / 60)}m`
        : far < 86_400
          ? `${Math.floor(far / 3600)}h`
          : `${Math.floor(far / 86_400)}d`;
  return seconds > 0 ? `${amount} ago` : `in ${amount}`;
}

/** By zone: making one takes longer than all else that a row of a list needs. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat("en-GB", {
    ...(zone === "" ? {} : { timeZone: zone }),
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
    timeZoneName: "short",
  });
  formats.set(zone, made);
  return made;
}

/** `2026-11-24 19:30:59 UTC`; an empty zone is the browser's own. */
export function formatAbsolute(at: Instant, zone: string): string {
  const parts = formatOf(zone).formatToParts(at);
  const of = (type: Intl.DateTimeFormatPartTypes): string => parts.find((part) => part.type === type)?.value ?? "";
  const day = `${of("year")}-${of("month")}-${of("day")}`;
  return `${day} ${of("hour")}:${of("minute")}:${of("second")} ${of("timeZoneName")}`;
}
