import type { RunPhase } from "#engine/index.ts";
import { collectProblems, type Dialect, type DocumentReader, graphOfView } from "#kernel/dialect/index.ts";
import { controllerFor } from "#kernel/kit/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { hasErrors, isJsonObject } from "#lib/base/index.ts";
import { column, kind, type ObjectOf, s } from "#lib/schema/index.ts";

const group = "tiny.example.org";

const Note = kind({
  group,
  version: "v1",
  kind: "Note",
  plural: "notes",
  scope: "Namespaced",
  description: "Somebody to greet.",
  spec: s.object({ name: s.string({ description: "Who is greeted." }) }),
  status: s.object({ greeting: s.optional(s.string()) }),
  columns: [column("Greeting", ".status.greeting")],
});
type Note = ObjectOf<typeof Note>;

const noteOf = (object: KubeObject): Note => object as unknown as Note;

const documents: DocumentReader = {
  detect: ({ value }) => isJsonObject(value) && value["apiVersion"] === `${group}/v1`,
  read({ value, positionOf }) {
    const found = collectProblems(positionOf);
    const { spec } = value as { readonly spec?: { readonly name?: unknown } };
    if (typeof spec?.name !== "string") found.error(["spec", "name"], "required", "a note needs a name");
    return {
      object: hasErrors(found.problems) ? undefined : (value as unknown as KubeObject),
      problems: found.problems,
    };
  },
  references: () => [],
  lint: (document) => documents.read(document).problems,
  readTogether: (all) => all.map(() => []),
  lintTogether: (all) => all.map(() => []),
};

export const dialect: Dialect = {
  name: "tiny",
  kinds: [Note],
  documents,
  admission: [],
  described: [],
  runs: {
    kinds: [{ group, kind: Note.kind }],
    accepts: { actions: [], check: () => undefined },
    describe: (object) => `Note ${object.metadata.name ?? ""}\n`,
    graph: (object) => graphOfView(dialect.runs.view(object, [])),
    view(object) {
      const { apiVersion, metadata, status } = noteOf(object);
      const phase: RunPhase = status?.greeting === undefined ? "Running" : "Succeeded";
      const { name = "", namespace = "" } = metadata;
      return {
        ref: { apiVersion, kind: Note.kind, name, namespace },
        dialect: "tiny",
        name,
        phase,
        nativePhase: phase,
        createdAt: 0,
        progress: { done: 0, total: 0 },
        steps: [],
        children: [],
        actions: [],
      };
    },
  },
  addControllers(manager, { options }) {
    const { greeting = "hello" } = (options ?? {}) as { readonly greeting?: string };
    const notes = manager.mirror<Note>(Note);
    controllerFor(manager, "tiny")
      .for<Note>(Note)
      .complete({
        async reconcile({ namespace, name }) {
          const note = notes.get(`${namespace}/${name}`);
          if (note === undefined || note.status?.greeting !== undefined) return undefined;
          await manager.client.updateStatus(Note, { ...note, status: { greeting: `${greeting}, ${note.spec.name}` } });
          return undefined;
        },
      });
    return Promise.resolve();
  },
};
