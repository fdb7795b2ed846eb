import type { Instant } from "#lib/base/index.ts";
import { settings } from "../data/settings.ts";
import { formatAbsolute, formatRelative, formatSpan, now } from "../data/time.ts";

/** Of an absolute time: without year and zone, which the preferences name. */
const [shortFrom, shortTo] = ["2026-".length, "2026-11-28 19:30:59".length];

/** Relative or absolute, as preferred; the whole time on hover. */
export function Time({ at }: { readonly at: Instant | undefined }) {
  if (at === undefined) return <span class="muted">-</span>;
  const absolute = formatAbsolute(at, settings.zone.value);
  return (
    <time dateTime={new Date(at).toISOString()} title={absolute}>
      {settings.times.value === "relative" ? formatRelative(at, now.value) : absolute.slice(shortFrom, shortTo)}
    </time>
  );
}

interface SpanProps {
  readonly from: Instant | undefined;
  /** Absent: until now. */
  readonly to: Instant | undefined;
}

/** How long it took, or has taken so far. */
export function Span({ from, to }: SpanProps) {
  if (from === undefined) return <span class="muted">-</span>;
  return <span class="number">{formatSpan((to ?? now.value) - from)}</span>;
}
