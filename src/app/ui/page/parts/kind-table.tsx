import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { type KindTable, readTable, resourcePath, type ServedKind, type TableRow } from "../data/kinds.ts";
import { href } from "../data/router.ts";
import { wordsOf } from "../data/words.ts";
import { useAgainOnChange, useAnswer } from "./answer.ts";
import { Failure, Loading } from "./states.tsx";
import { middle, Table } from "./table.tsx";

type LinkOf = (column: string, cell: string, row: TableRow) => string | undefined;

interface KindTableViewProps {
  readonly kind: ServedKind;
  readonly namespace?: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Rows that contain it, whatever the column. */
  readonly text?: string;
  readonly newestFirst?: boolean;
  /** Columns that narrow screens have; the first three otherwise. */
  readonly narrow?: readonly string[];
  /** Where a cell leads, beside the first one, which leads to the object. */
  readonly linkOf?: LinkOf;
  readonly empty: ComponentChildren;
}

/** The table of a kind, kept up to date. */
export function KindTableView({ kind, namespace, query = {}, text = "", empty, ...more }: KindTableViewProps) {
  const limit = useSignal(500);
  const key = [kind.group, kind.kind, namespace, JSON.stringify(query), limit.value].join(" ");
  const [answer, again] = useAnswer(
    (signal) =>
      readTable(kind, {
        ...(namespace === undefined ? {} : { namespace }),
        query: { ...query, limit: String(limit.value) },
        signal,
      }),
    key,
  );
  const version = answer.is === "ready" ? answer.value.resourceVersion : "";
  const params = {
    group: kind.group,
    version: kind.version,
    resource: kind.resource,
    ...(namespace === undefined ? {} : { namespace }),
  };
  const isLive = version !== "" && kind.verbs.includes("watch");
  useAgainOnChange(isLive ? { what: "kind", params, resourceVersion: version } : undefined, again);
  if (answer.is === "loading") return <Loading what={kind.resource} />;
  if (answer.is === "failed") return <Failure thrown={answer.thrown} onRetry={again} />;
  const { rows } = answer.value;
  if (rows.length === 0) return <>{empty}</>;
  const fits = wordsOf(text);
  const { newestFirst = false, linkOf, narrow } = more;
  const sorted = newestFirst ? rows.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1)) : rows;
  const fitting = sorted.filter(({ namespace, cells }) => fits([namespace, ...cells].join(" ")));
  return (
    <>
      <Rows kind={kind} table={answer.value} rows={fitting} linkOf={linkOf} narrow={narrow} />
      {fitting.length === 0 && <p class="muted">None of the {rows.length} objects contains all of these words.</p>}
      {answer.value.continue !== undefined && (
        <p>
          <button
            type="button"
            onClick={() => {
              limit.value *= 2;
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

const Cell = ({ text, to }: { readonly text: string; readonly to: string | undefined }) =>
  to === undefined ? <>{text}</> : <a href={href(to)}>{text}</a>;

const Rows = ({
  kind,
  table,
  rows,
  linkOf,
  narrow,
}: {
  readonly kind: ServedKind;
  readonly table: KindTable;
  readonly rows: readonly TableRow[];
  readonly linkOf: LinkOf | undefined;
  readonly narrow: readonly string[] | undefined;
}) => {
  const isWide = (index: number): boolean =>
    narrow === undefined ? index > 2 : !narrow.includes(table.columns[index] ?? "");
  const columns = [
    ...table.columns.map((id, index) => (isWide(index) ? middle(id) : { id })),
    ...(kind.isNamespaced ? [middle("Namespace")] : []),
  ];
  return (
    <Table label={`List of ${kind.resource}`} columns={columns}>
      {rows.map((row) => (
        <tr key={`${row.namespace ?? ""}/${row.name}`}>
          {row.cells.map((cell, index) => (
            <td key={index} class={isWide(index) ? "from-middle cell" : "cell"} title={cell}>
              <Cell
                text={cell}
                to={
                  index === 0
                    ? resourcePath(kind, row.namespace, row.name)
                    : linkOf?.(table.columns[index] ?? "", cell, row)
                }
              />
            </td>
          ))}
          {kind.isNamespaced && <td class="from-middle cell muted">{row.namespace}</td>}
        </tr>
      ))}
    </Table>
  );
};
