import type { Dialect, LogOpener } from "#kernel/dialect/index.ts";
import type { Clock } from "#lib/base/index.ts";
import type { LogSource } from "#kernel/apiserver/index.ts";
import { badRequest } from "#kernel/model/index.ts";

export const dialectDirectory = (directory: string, { name }: Dialect): string => `${directory}/${name}`;

/** The logs that dialects keep: in files, or as reported by their controllers once these have started. */
export const logSourcesOf = (
  dialects: readonly Dialect[],
  directory: string,
  clock: Clock,
  told: ReadonlyMap<string, LogOpener>,
): readonly LogSource[] =>
  dialects.flatMap((dialect) => {
    const { kinds, logs } = dialect.runs;
    if (logs === undefined) return [];
    const place = { directory: dialectDirectory(directory, dialect), clock };
    const { parameter, numbersLines = false } = logs;
    return [
      {
        kinds,
        parameter,
        numbersLines,
        async open(run, part, request) {
          const opener = told.get(dialect.name);
          if (opener !== undefined) return await opener(run, part, request);
          if (logs.open === undefined) throw badRequest("the server is starting, and has no logs yet");
          return await logs.open(place, run, part, request);
        },
      },
    ];
  });
