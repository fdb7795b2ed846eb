import { formatProblem, hasErrors, type Problem } from "#lib/base/index.ts";
import { command, exitCode } from "#kernel/command/index.ts";

/** Absent flags were not given. */
interface LintOptions {
  readonly output?: "json";
  readonly strict?: boolean;
}

/**
 * Needs no server. The problems are the data, so they go to stdout; their number goes to stderr. Ends with 2 on
 * errors, with `--strict` on warnings too, so that it can guard a repository. `-o json` prints a list of all problems
 * with codes, an empty one when all is well; for people the warnings of one code are capped.
 */
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
    const { readDocuments } = await import("../documents.ts");
    const { readStdin } = await import("#kernel/command/index.node.ts");
    const read = await readDocuments(rest, {
      directory: environment.directory,
      lint: true,
      stdin: readStdin,
    });
    const { documents } = read;
    // Of what is wrong already, what comes of it says nothing new.
    const { previewProblems } = await import("../run-previews.ts");
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

/** Warnings of one code that people are shown. */
const mostWarnings = 20;

/** All errors, the first warnings of each code, and how many more of that code there are. */
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

/** `3 documents, 1 error, 0 warnings`: for people; what can be counted is on stdout. */
function summary(documents: number, problems: readonly Problem[]): string {
  const errors = problems.filter(({ severity }) => severity === "error").length;
  const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  return `${count(documents, "document")}, ${count(errors, "error")}, ${count(problems.length - errors, "warning")}`;
}
