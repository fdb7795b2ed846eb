import { defined, isJsonObject, type JsonObject, ok, objectAt } from "#lib/base/index.ts";
import { applyMergePatch } from "#lib/json/index.ts";
import type { Cue, CueHealth, CueHealthRequest, CueRendering, CueRenderRequest } from "#kernel/template/index.ts";

export interface FakeTemplate {
  readonly output?: JsonObject;
  readonly outputs?: Readonly<Record<string, JsonObject>>;
  readonly patch?: JsonObject;
  readonly errs?: readonly string[];
}

/**
 * A `Cue` whose templates are functions, by the text of the template. Patches are merge patches, which is enough to
 * test who merges what; the rules of CUE are tested with CUE.
 */
export function fakeCue(
  templates: Readonly<Record<string, (request: CueRenderRequest) => FakeTemplate>>,
  health: (request: CueHealthRequest) => CueHealth = () => ({ details: {} }),
): Cue {
  const unused = (): never => {
    throw new Error("this fake renders templates and judges health, nothing else");
  };
  return {
    render: async (request) => ok(renderFake(request, templates[request.text] ?? (() => patchIn(request.text)))),
    health: async (request) => ok(health(request)),
    next: unused,
    lookup: async (task, expressions) => {
      const value = JSON.parse(`{${task.text.replace(/^(\w+): /gm, '"$1": ').replaceAll("\n", ",")}}`) as JsonObject;
      return ok(
        expressions.map((path) => {
          const found = path.split(".").reduce<unknown>((at, name) => (isJsonObject(at) ? at[name] : undefined), value);
          return {
            exists: found !== undefined,
            ...(found === undefined ? {} : { value: found as string }),
            problems: [],
          };
        }),
      );
    },
    patch: unused,
    evaluateBoolean: unused,
    references: unused,
    schema: unused,
    vet: unused,
    upgrade: unused,
    readDefinition: unused,
    writeDefinition: unused,
  };
}

/** The texts that deliveries generate for patches. */
function patchIn(text: string): FakeTemplate {
  const found = /^patch: (.*)$/m.exec(text)?.[1];
  return found === undefined ? {} : { patch: JSON.parse(found) as JsonObject };
}

function renderFake(request: CueRenderRequest, template: (request: CueRenderRequest) => FakeTemplate): CueRendering {
  const { output, outputs = {}, patch, errs = [] } = template(request);
  const base = request.base?.output;
  const merged = base === undefined || patch === undefined ? base : objectAt(applyMergePatch(base, patch));
  const result = output ?? merged;
  return {
    ...defined({ output: result }),
    outputs: { ...request.base?.outputs, ...outputs },
    errs,
  };
}
