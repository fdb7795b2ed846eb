import { diffLines } from "./line-diff.ts";

const signs = { same: "  ", added: "+ ", removed: "- ", gap: "  " } as const;

export function Diff({ before, after }: { readonly before: string; readonly after: string }) {
  const lines = diffLines(before, after);
  if (lines.length === 0) return <p class="muted">No difference.</p>;
  return (
    <pre class="diff" tabIndex={0} role="region" aria-label="Difference">
      {lines.map(({ is, text }, index) => (
        <span key={index} class={`is-${is}`}>
          {signs[is]}
          {text}
        </span>
      ))}
    </pre>
  );
}
