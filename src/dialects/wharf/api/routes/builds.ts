import { isJsonObject, type JsonObject, type JsonValue, parseInstant } from "#lib/base/index.ts";
import { compileSchema } from "#lib/schema/index.ts";
import { moved, type Told } from "../../builds/transitions.ts";
import { BuildStatus } from "../../schema/build.ts";
import { Fields } from "../body.ts";
import type { Stored } from "#kernel/model/index.ts";
import { type BuildWord, isOver, wordOf } from "../../state.ts";
import { refuse } from "../../http/index.ts";
import { type RestContext, sendJson, uintOf } from "../../http/rest-api.ts";
import type { Build } from "../../kinds.ts";
import { buildJson, statusWords } from "../json.ts";
import { type ListFields, numberIn, pageOf } from "../list-query.ts";
import type { Api, ApiParts } from "./parts.ts";

// Aggregators report states and steps here; apart from that only the controller changes builds.

const buildFields: ListFields<Stored<Build>> = {
  orders: {
    buildId: ({ spec }) => spec.buildId ?? 0,
    environment: ({ spec }) => spec.environment ?? null,
    finishedOn: ({ status }) => parseInstant(status?.finishedOn ?? "") ?? null,
    scheduledOn: (build) => scheduledAt(build) ?? null,
    startedOn: ({ status }) => parseInstant(status?.startedOn ?? "") ?? null,
    stage: ({ spec }) => spec.stage,
    statusId: (build) => statusWords.indexOf(wordOf(build)),
    isInvalid: ({ status }) => status?.isInvalid ?? false,
  },
  usualOrder: "buildId",
  texts: {
    environment: ({ spec }) => spec.environment ?? null,
    gitBranch: ({ spec }) => spec.ref ?? "",
    stage: ({ spec }) => spec.stage,
    workerId: ({ status }) => status?.workerId ?? "",
  },
  flags: { isInvalid: ({ status }) => status?.isInvalid ?? false },
  times: {
    scheduled: (build) => scheduledAt(build),
    finished: ({ status }) => parseInstant(status?.finishedOn ?? ""),
  },
  soft: ["environment", "gitBranch", "stage"],
};

/** Falls back to the creation time. */
const scheduledAt = ({ status, metadata }: Stored<Build>) =>
  parseInstant(status?.scheduledOn ?? metadata.creationTimestamp);

const buildIdOf = (context: RestContext): number => uintOf("buildId", context.req.param("buildId") ?? "");

async function shownBuild(build: Stored<Build>, { repository, start, stores }: ApiParts): Promise<JsonObject> {
  const summaries = await stores.summaries(build.spec.buildId ?? 0);
  return buildJson(build, { project: repository.records.projectOf(build), engines: start.engines, summaries });
}

export function addBuildRoutes(api: Api, parts: ApiParts): void {
  const { repository } = parts;
  api.get("/api/build", async (context) => {
    const query = new URL(context.req.url).searchParams;
    const hasWord = statusFilter(query);
    const ofProject = numberIn(query, "projectId");
    const { records } = repository;
    const numbered = records.builds.list().filter(({ spec }) => spec.buildId !== undefined);
    const { list, totalCount } = pageOf(
      numbered,
      query,
      buildFields,
      (build) =>
        hasWord(wordOf(build)) &&
        (ofProject === undefined || (records.projectOf(build)?.spec.projectId ?? 0) === ofProject),
    );
    return sendJson(context, { list: await Promise.all(list.map((build) => shownBuild(build, parts))), totalCount });
  });
  api.get("/api/build/:buildId", async (context) =>
    sendJson(context, await shownBuild(repository.build(buildIdOf(context)), parts)),
  );
  // Returns the current build even if nothing changed, because ends are final.
  api.put("/api/build/:buildId/status", async (context) => {
    const fields = await Fields.read(context);
    const word = wordIn("status", fields.required("status"), fields);
    const told = readTold(fields);
    fields.done();
    return sendJson(context, await shownBuild(await tellStatus(buildIdOf(context), word, told, parts), parts));
  });
  api.post("/api/build/:buildId/cancel", async (context) => {
    const build = repository.build(buildIdOf(context));
    if (isOver(wordOf(build))) return sendJson(context, await shownBuild(build, parts));
    const canceled = await repository.cancelBuild(buildIdOf(context));
    return sendJson(context, await shownBuild(canceled, parts), 202);
  });
}

/** An end is stored after all accepted lines are synced. */
export async function tellStatus(
  buildId: number,
  word: BuildWord,
  told: ReturnType<typeof readTold>,
  { repository, stores, clock }: ApiParts,
): Promise<Stored<Build>> {
  repository.build(buildId);
  const { message: missing, ...kept } = isOver(word) ? await stores.settled(buildId) : {};
  // The reason of a failure is more important than dropped outputs.
  const note = missing !== undefined && word === "Completed" ? { message: missing } : {};
  const all = { ...note, ...told, ...kept };
  return await repository.updateStatus(buildId, (build) => moved(build, word, all, clock.now()));
}

function wordIn(name: string, text: string, fields: Fields): BuildWord {
  const word = statusWords.find((known) => known === text);
  if (word === undefined && text !== "")
    fields.problem(`${name}: expected one of ${statusWords.join(", ")}, found ${JSON.stringify(text)}`);
  return word ?? "Scheduling";
}

function statusFilter(query: URLSearchParams): (word: BuildWord) => boolean {
  const [words, numbers] = [query.getAll("status"), query.getAll("statusId")];
  if (words.length > 0 && numbers.length > 0)
    throw refuse("invalid-param", "statusId: expected either status or statusId");
  const wanted = [...words, ...numbers].map((text, at) => {
    const isWord = at < words.length;
    const word = isWord
      ? statusWords.find((known) => known === text)
      : statusWords[/^\d+$/.test(text) ? Number(text) : -1];
    if (word !== undefined) return word;
    const expected = isWord ? `one of ${statusWords.join(", ")}` : "a number from 0 to 3";
    const parameter = isWord ? "status" : "statusId";
    throw refuse("invalid-param", `${parameter}: expected ${expected}, found ${JSON.stringify(text)}`, { parameter });
  });
  return (word) => wanted.length === 0 || wanted.includes(word);
}

/** Additions: the original only accepts the status. */
const members = ["reason", "message", "stages", "steps", "outputs"] as const;

const schema = compileSchema(BuildStatus.schema);

function readTold(fields: Fields): Told {
  const given: Record<string, JsonValue> = {};
  for (const name of members) {
    const value = fields.value(name);
    if (value !== undefined && value !== null) given[name] = value;
  }
  if (Object.keys(given).length === 0) return {};
  const told = schema.prune(given).value;
  for (const { field, message } of schema.validate(told)) fields.problem(`${field}: ${message}`);
  return isJsonObject(told) ? typed(told) : {};
}

const typed = (told: JsonObject): Told => told;
