import type { Span } from "./log-rows.ts";

/** What a line means besides its text. */
export type Mark =
  | { readonly is: "group"; readonly title: string }
  | { readonly is: "end-group" }
  | { readonly is: "error" | "warning" | "debug" | "command"; readonly text: string };

const command =
  /^(?:::|##\[)(group|endgroup|error|warning|notice|debug|section|command)(?: [^\]:]*)?(?:::|\])\s?(.*)$/is;

/** Commands that build systems print for viewers: `::group::TITLE`, `##[group]TITLE`, `::error file=a::TEXT`. */
export function markOf(text: string): Mark | undefined {
  if (!text.startsWith("::") && !text.startsWith("##[")) return undefined;
  const [, name = "", rest = ""] = command.exec(text) ?? [];
  switch (name.toLowerCase()) {
    case "group":
      return { is: "group", title: rest === "" ? "Group" : rest };
    case "endgroup":
      return { is: "end-group" };
    case "error":
      return { is: "error", text: rest };
    case "warning":
    case "notice":
      return { is: "warning", text: rest };
    case "debug":
      return { is: "debug", text: rest };
    case "section":
    case "command":
      return { is: "command", text: rest };
    default:
      return undefined;
  }
}

/**
 * The line of a group's title and the lines that belong to it. A group that another one, or the log's end, cuts off
 * ends there.
 */
export interface Section {
  readonly line: number;
  readonly title: string;
  /** Exclusive; its end mark belongs to it. */
  readonly end: number;
}

/**
 * Of marks in order, with the numbers of their lines. Groups do not nest: original viewers end a group where the next
 * begins.
 */
export function sectionsOf(
  marks: readonly { readonly line: number; readonly mark: Mark }[],
  total: number,
): readonly Section[] {
  const sections: Section[] = [];
  let open: { readonly line: number; readonly title: string } | undefined;
  const close = (end: number): void => {
    if (open !== undefined) sections.push({ ...open, end });
    open = undefined;
  };
  for (const { line, mark } of marks) {
    if (mark.is === "group") {
      close(line);
      open = { line, title: mark.title };
    } else if (mark.is === "end-group") close(line + 1);
  }
  close(total);
  return sections;
}

export const hiddenOf = (section: Section): Span => ({ first: section.line + 1, end: section.end });

/** Lines at which one looks first when something failed. */
export const usualErrors =
  "^(?:##\\[error\\]|::error)|\\b(?:ERROR|FATAL|FAIL(?:ED)?)\\b|\\b(?:error|fatal|panic|exception)(?:\\[\\w+\\])?:|^Traceback \\(|^\\s*at .+:\\d+:\\d+\\)?$|\\bexit (?:code|status) [1-9]|command not found|[Nn]o such file or directory";

/** The pattern of a person, or the usual one if that is empty; undefined if it is not an expression. */
export function errorPattern(own: string): RegExp | undefined {
  try {
    return new RegExp(own === "" ? usualErrors : own, "u");
  } catch {
    return undefined;
  }
}

/** The first number above, or the last one below, of numbers in order; goes round at the end. */
export function neighbour(lines: readonly number[], from: number, direction: 1 | -1): number | undefined {
  return direction === 1
    ? (lines.find((line) => line > from) ?? lines[0])
    : (lines.findLast((line) => line < from) ?? lines.at(-1));
}
