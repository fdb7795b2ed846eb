import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { type ServedResults, withResultsApi } from "../../results-api/testing/served-results.ts";

/** Real stores behind real routes; statuses are recorded. */
export interface RecordingApi extends Pick<ServedResults, "builds" | "logs" | "artifacts"> {
  readonly url: string;
  readonly statuses: JsonObject[];
  /** Answers this many requests with 503. */
  refuse(count: number): void;
  messages(buildId: number, stepId: number): Promise<readonly string[]>;
}

export async function withRecordingApi(
  work: (api: RecordingApi) => Promise<void>,
  before: (path: string) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const statuses: JsonObject[] = [];
  let refusals = 0;
  await withResultsApi(
    ({ address, builds, logs, artifacts }) =>
      work({
        url: `http://${address}`,
        builds,
        logs,
        artifacts,
        statuses,
        refuse: (count) => (refusals = count),
        async messages(buildId, stepId) {
          const found: string[] = [];
          for await (const page of logs.step(buildId, stepId)) found.push(...page.map(({ message }) => message));
          return found;
        },
      }),
    (api) => {
      api.use(async (context, next) => {
        await before(context.req.path);
        if (refusals === 0) return await next();
        refusals--;
        return context.body(null, 503);
      });
      api.put("/api/build/:id/status", async (context) => {
        const body: JsonValue = JSON.parse(await context.req.text()) as JsonValue;
        if (isJsonObject(body)) statuses.push(body);
        return context.json({});
      });
    },
  );
}
