import type { ComponentChildren } from "preact";
import { RequestFailure } from "../data/api.ts";

/** A page that has nothing to show says how to fill it. */
export function Empty({
  title,
  children,
  commands = [],
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly commands?: readonly string[];
}) {
  return (
    <div class="state-page">
      <h2>{title}</h2>
      {children}
      {commands.length > 0 && (
        <ul class="commands">
          {commands.map((command) => (
            <li key={command}>
              <code>{command}</code>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

const advice = (status: number): string => {
  if (status === 0) return "Check that the server runs: slipway status. The page tries again by itself.";
  if (status === 401) return "Run slipway ui and open the link that it prints.";
  if (status === 403) return "Ask an administrator for the right, or log in as another user with slipway ui.";
  if (status === 404) return "It may have been deleted, or the name is wrong. Go to the list to see what exists.";
  return "Try again. If it keeps failing, look at the server's log.";
};

/** What was tried, what came back, and what to do. */
export function Failure({ thrown, onRetry }: { readonly thrown: unknown; readonly onRetry?: () => void }) {
  const failure = thrown instanceof RequestFailure ? thrown : undefined;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return (
    <div class="state-page" role="alert">
      <h2>{failure?.status === 404 ? "Not found" : "This could not be loaded"}</h2>
      <p class="wrap">{message}</p>
      <dl class="facts">
        <dt>Tried</dt>
        <dd>
          <code>{failure?.tried ?? "to show the page"}</code>
        </dd>
        {failure !== undefined && failure.status !== 0 && (
          <>
            <dt>Answer</dt>
            <dd>
              {failure.status} {failure.reason}
            </dd>
          </>
        )}
      </dl>
      <p>{advice(failure?.status ?? 500)}</p>
      {onRetry !== undefined && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

export const Loading = ({ what }: { readonly what: string }) => (
  <p class="loading" role="status">
    Loading {what}…
  </p>
);
