import type { CueProblem } from "#kernel/template/index.ts";
import type { TemplateFailure } from "#kernel/template/index.ts";

/** At most this many problems are listed. */
const maxProblems = 10;

/** The problems of a text with path and place, or the message if none are known. */
export function failureText({ message, problems }: TemplateFailure): string {
  if (problems.length === 0) return message;
  const texts = [...new Set(problems.slice(0, maxProblems).map(problemText))];
  const more = problems.length > maxProblems ? [`and ${problems.length - maxProblems} more`] : [];
  return [...texts, ...more].join("; ");
}

function problemText({ path = "", message, line = 0, column = 0, file }: CueProblem): string {
  const subject = path === "" || message.startsWith(path) ? "" : `${path}: `;
  const place = line > 0 ? ` (${file === undefined ? "" : `${file}:`}${line}:${column})` : "";
  return `${subject}${message}${place}`;
}
