import { getOrUndefined } from "#kernel/kit/index.ts";
import type { Provider } from "../ops/provider.ts";
import { fail, failure, wait } from "../ops/form.ts";
import { inputOf, returning } from "../ops/use-case-value.ts";
import { wantedApplication } from "./wanted.ts";
import { writeBack } from "./write-back.ts";

const apiVersion = "core.oam.dev/v1beta1";

/** `app/write-back`: the live application becomes the rendered one. Waits until a pass finds no difference. */
export const writeBackProvider: Provider = async (value, scope) => {
  const { client, clock, signal, app } = scope;
  const { name, namespace } = app.identity;
  if (scope.step.stage !== "pre-render") return failure("write-back: the step must have stage pre-render");
  const wanted = wantedApplication(inputOf(value), name);
  if (!wanted.ok) return failure(wanted.error);
  const type = await client.resourceType(apiVersion, "Application");
  if (type === undefined) return failure(`no kind Application in version ${apiVersion}`);
  const live = await getOrUndefined(client, { type, namespace, name }, signal);
  if (live === undefined) return failure(`application "${namespace}/${name}" not found`);
  const noteOverlay = (digest: string) => scope.noteOverlay?.(digest);
  const parts = { client, clock, signal, noteOverlay };
  const written = await writeBack(type, live, wanted.value, parts);
  switch (written.kind) {
    case "same":
      scope.say("no change");
      return returning({ changed: false });
    case "written":
      return wait("the application was written back; waiting for its new generation");
    case "conflict":
      return wait("the application was changed meanwhile");
    case "unsettled":
      return fail(written.message);
  }
};
