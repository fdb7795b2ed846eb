import type { ComponentChildren } from "preact";

export interface Column {
  readonly id: string;
  /** Instead of the id. */
  readonly head?: ComponentChildren;
  readonly class?: string;
  readonly sorted?: "ascending" | "descending" | undefined;
}

export const TableHead = ({ columns }: { readonly columns: readonly Column[] }) => (
  <thead>
    <tr>
      {columns.map(({ id, head = id, class: name = "", sorted }) => (
        <th key={id} scope="col" class={name} aria-sort={sorted}>
          {head}
        </th>
      ))}
    </tr>
  </thead>
);

interface TableProps {
  readonly label: string;
  readonly class?: string;
  readonly columns: readonly Column[];
  /** Rows. */
  readonly children: ComponentChildren;
}

/** A table that scrolls sideways where it does not fit, also by keyboard. */
export const Table = ({ label, class: name = "is-auto", columns, children }: TableProps) => (
  <div class="table-scroll" tabIndex={0} role="region" aria-label={label}>
    <table class={`table ${name}`}>
      <TableHead columns={columns} />
      <tbody>{children}</tbody>
    </table>
  </div>
);

/** Columns that narrow screens leave out. */
export const middle = (id: string): Column => ({ id, class: "from-middle" });
