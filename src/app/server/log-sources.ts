import type { Dialect } from "#dialects/index.ts";
import type { Clock } from "#lib/base/index.ts";
import type { LogSource } from "#kernel/apiserver/index.ts";

/** Where a dialect keeps what is its own. */
export const dialectDirectory = (directory: string, { name }: Dialect): string => `${directory}/${name}`;

/** The logs that dialects keep of their runs. */
export const logSourcesOf = (dialects: readonly Dialect[], directory: string, clock: Clock): readonly LogSource[] =>
  dialects.flatMap((dialect) => {
    const { kinds, logs } = dialect.runs;
    if (logs === undefined) return [];
    const place = { directory: dialectDirectory(directory, dialect), clock };
    const { parameter } = logs;
    return [{ kinds, parameter, open: (run, part, request) => logs.open(place, run, part, request) }];
  });
