import type { Instant } from "#lib/base/index.ts";
import { settings } from "../data/settings.ts";
import { formatAbsolute, formatRelative, formatSpan, now } from "../data/time.ts";

/** Relative, with the absolute time on hover and for screen readers. */
export function Time({ at }: { readonly at: Instant | undefined }) {
  if (at === undefined) return <span class="muted">-</span>;
  const absolute = formatAbsolute(at, settings.zone.value);
  return (
    <time dateTime={new Date(at).toISOString()} title={absolute}>
      {formatRelative(at, now.value)}
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
