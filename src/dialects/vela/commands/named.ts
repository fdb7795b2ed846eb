import { UsageError } from "#kernel/command/index.ts";
import { Application, WorkflowRun } from "../kinds.ts";

/** The run that a word names. */
export interface NamedRun {
  readonly type: typeof Application | typeof WorkflowRun;
  readonly name: string;
}

const kindsByWord = new Map(
  [Application, WorkflowRun].flatMap((type) =>
    [type.kind.toLowerCase(), type.plural, ...type.shortNames].flatMap((word) => [
      [word, type] as const,
      [`${word}.${type.group}`, type] as const,
    ]),
  ),
);

/** `app/shop`, `wr/report`, or `shop` for an Application. */
export function namedRun(word: string): NamedRun {
  const [kind = "", name, ...rest] = word.split("/");
  if (name === undefined) return { type: Application, name: kind };
  const type = kindsByWord.get(kind.toLowerCase());
  if (type === undefined || name === "" || rest.length > 0)
    throw new UsageError(`expected app/NAME or wr/NAME, found ${JSON.stringify(word)}`);
  return { type, name };
}

export function namedApplication(word: string): string {
  const { type, name } = namedRun(word);
  if (type !== Application) throw new UsageError(`expected app/NAME, found ${JSON.stringify(word)}`);
  return name;
}
