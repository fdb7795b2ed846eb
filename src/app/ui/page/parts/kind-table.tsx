import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { type KindTable, readTable, resourcePath, type ServedKind, type TableRow } from "../data/kinds.ts";
import { href } from "../data/router.ts";
import { stream } from "../data/server.ts";
import { clock } from "../data/time.ts";
import { useAnswer } from "./answer.ts";
import { Failure, Loading } from "./states.tsx";

interface KindTableViewProps {
  readonly kind: ServedKind;
  readonly namespace?: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Rows that contain it, whatever the column. */
  readonly text?: string;
  readonly empty: ComponentChildren;
}

/** Lists are read again at most this often while objects change. */
const restMs = 2000;

/** The table of a kind, kept up to date. */
export function KindTableView({ kind, namespace, query = {}, text = "", empty }: KindTableViewProps) {
  const more = useSignal(500);
  const key = [kind.group, kind.kind, namespace, JSON.stringify(query), more.value].join(" ");
  const [answer, again] = useAnswer(
    (signal) =>
      readTable(kind, {
        ...(namespace === undefined ? {} : { namespace }),
        query: { ...query, limit: String(more.value) },
        signal,
      }),
    key,
  );
  const version = answer.is === "ready" ? answer.value.resourceVersion : "";
  useEffect(() => {
    if (version === "" || !kind.verbs.includes("watch")) return;
    let cancel = (): void => undefined;
    const params = {
      group: kind.group,
      version: kind.version,
      resource: kind.resource,
      ...(namespace === undefined ? {} : { namespace }),
    };
    let isAsked = false;
    const handle = stream.subscribe({ what: "kind", params, resourceVersion: version }, ({ type }) => {
      if (isAsked || !["ADDED", "MODIFIED", "DELETED", "GONE"].includes(type)) return;
      isAsked = true;
      cancel = clock.after(restMs, again);
    });
    return () => {
      cancel();
      handle.close();
    };
  }, [key, version]);
  if (answer.is === "loading") return <Loading what={kind.resource} />;
  if (answer.is === "failed") return <Failure thrown={answer.thrown} onRetry={again} />;
  const { rows } = answer.value;
  if (rows.length === 0) return <>{empty}</>;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fitting = rows.filter((row) => {
    const all = [row.namespace, ...row.cells].join(" ").toLowerCase();
    return words.every((word) => all.includes(word));
  });
  return (
    <>
      <Rows kind={kind} table={answer.value} rows={fitting} />
      {fitting.length === 0 && <p class="muted">None of the {rows.length} objects contains all of these words.</p>}
      {answer.value.continue !== undefined && (
        <p>
          <button
            type="button"
            onClick={() => {
              more.value *= 2;
            }}
          >
            Show more
          </button>{" "}
          <span class="muted">The first {rows.length} are shown.</span>
        </p>
      )}
    </>
  );
}

const Rows = ({
  kind,
  table,
  rows,
}: {
  readonly kind: ServedKind;
  readonly table: KindTable;
  readonly rows: readonly TableRow[];
}) => (
  <div class="table-scroll" tabIndex={0} role="region" aria-label={`List of ${kind.resource}`}>
    <table class="table is-auto">
      <thead>
        <tr>
          {table.columns.map((column, index) => (
            <th scope="col" key={column} class={index > 2 ? "from-middle" : ""}>
              {column}
            </th>
          ))}
          {kind.isNamespaced && (
            <th scope="col" class="from-middle">
              Namespace
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={`${row.namespace ?? ""}/${row.name}`}>
            {row.cells.map((cell, index) => (
              <td key={index} class={index > 2 ? "from-middle cell" : "cell"} title={cell}>
                {index === 0 ? <a href={href(resourcePath(kind, row.namespace, row.name))}>{cell}</a> : cell}
              </td>
            ))}
            {kind.isNamespaced && <td class="from-middle cell muted">{row.namespace}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
