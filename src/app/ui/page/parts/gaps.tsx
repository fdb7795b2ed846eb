import type { RunGap } from "#app/ui/wire.ts";

/** Kinds of runs that the list is without, and why: nothing for most people. */
export function Gaps({ gaps }: { readonly gaps: readonly RunGap[] }) {
  if (gaps.length === 0) return null;
  const [absent, others] = [
    gaps.filter(({ why }) => why === "not-served"),
    gaps.filter(({ why }) => why !== "not-served"),
  ];
  return (
    <ul class="gaps" aria-label="Not listed">
      {others.map(({ dialect, kind, only }) => (
        <li key={`${dialect} ${kind}`}>
          {kind} ({dialect}): you may not list it
          {only === undefined ? "" : ` in all namespaces; shown are those of ${only}`}
        </li>
      ))}
      {absent.length > 0 && (
        <li>
          {absent.map(({ dialect, kind }) => `${kind} (${dialect})`).join(", ")}: the cluster does not serve{" "}
          {absent.length === 1 ? "it" : "them"}. Install with{" "}
          <code>slipway crds | kubectl apply --server-side -f -</code>
        </li>
      )}
    </ul>
  );
}
