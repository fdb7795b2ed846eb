import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { LintRequest, StartableObject } from "#app/ui/wire.ts";
import { ParameterFields } from "../../parts/parameter-fields.tsx";

interface TemplateFormProps {
  readonly object: StartableObject;
  /** What the form asks for, as it is filled in. */
  readonly request: Signal<LintRequest | undefined>;
}

/** The parameters of a stored object. */
export function TemplateForm({ object, request }: TemplateFormProps) {
  const values = useSignal<Readonly<Record<string, string>>>({});
  useEffect(() => {
    request.value = { start: object.ref, arguments: values.value };
  }, [values.value]);
  return (
    <form onSubmit={(event) => event.preventDefault()}>
      {object.parameters.length === 0 && <p class="muted">It declares no parameters.</p>}
      <ParameterFields parameters={object.parameters} values={values} />
    </form>
  );
}
