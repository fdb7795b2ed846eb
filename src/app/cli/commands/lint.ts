import { formatProblem, hasErrors, type Problem } from "#lib/base/index.ts";
import { command, exitCode } from "#kernel/command/index.ts";

interface LintOptions {
  readonly output?: "json";
  readonly strict?: boolean;
}

/** Prints problems on stdout and their number on stderr. Exits with 2 on errors, with `--strict` also on warnings. */
export const lintCommand = command<LintOptions>({
  name: "lint",
  args: ["<files...>"],
  summary: "Report all problems of documents, as file:line:column",
  group: "Documents",
  examples: [
    "slipway lint examples/workflow/diamond.yaml",
    "slipway lint -o json examples/workflow",
    "cat w.yaml | slipway lint -",
  ],
  options: [
    { flags: "-o, --output <format>", summary: "json", choices: ["json"] },
    { flags: "--strict", summary: "fail on warnings too" },
  ],
  completes: ["file"],
  async action(invocation) {
    const { rest, options, environment } = invocation;
    const { readDocuments } = await import("#app/runs/index.ts");
    const read = await readDocuments(rest, { directory: environment.directory, lint: true });
    const { documents } = read;
    // Rendering an invalid document reports nothing new.
    const { previewProblems } = await import("#app/runs/index.ts");
    const rendered = hasErrors(read.problems) ? [] : await previewProblems(read, invocation);
    const problems = [...read.problems, ...rendered];
    if (options.output === "json") environment.out.write(`${JSON.stringify(problems, null, 2)}\n`);
    else {
      for (const line of linesOf(problems)) environment.out.write(`${line}\n`);
      environment.err.write(`${summary(documents.length, problems)}\n`);
    }
    return hasErrors(problems) || (options.strict === true && problems.length > 0)
      ? exitCode.usage
      : exitCode.succeeded;
  },
});

/** Warnings of one code that are shown as text. */
const mostWarnings = 20;

/** All errors, the first warnings of each code, and the number of further ones. */
function linesOf(problems: readonly Problem[]): readonly string[] {
  const counts = new Map<string, number>();
  const shown = problems.filter(({ severity, code }) => {
    if (severity === "error") return true;
    const count = (counts.get(code) ?? 0) + 1;
    counts.set(code, count);
    return count <= mostWarnings;
  });
  const cut = [...counts].filter(([, count]) => count > mostWarnings);
  return [
    ...shown.map(formatProblem),
    ...cut.map(
      ([code, count]) => `warning: ${count - mostWarnings} more warnings with the code ${code}; -o json lists them all`,
    ),
  ];
}

/** `3 documents, 1 error, 0 warnings`. */
function summary(documents: number, problems: readonly Problem[]): string {
  const errors = problems.filter(({ severity }) => severity === "error").length;
  const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  return `${count(documents, "document")}, ${count(errors, "error")}, ${count(problems.length - errors, "warning")}`;
}
