import { useSignal } from "@preact/signals";
import type { LintRequest, StartableObject } from "#app/ui/wire.ts";
import { ParameterFields } from "../../parts/parameter-fields.tsx";

interface TemplateFormProps {
  readonly object: StartableObject;
  readonly onCheck: (request: LintRequest) => void;
}

/** The parameters of a stored object. */
export function TemplateForm({ object, onCheck }: TemplateFormProps) {
  const values = useSignal<Readonly<Record<string, string>>>({});
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onCheck({ start: object.ref, arguments: values.value });
      }}
    >
      {object.parameters.length === 0 && <p class="muted">It declares no parameters.</p>}
      <ParameterFields parameters={object.parameters} values={values} />
      <p class="buttons">
        <button type="submit" class="primary">
          Check
        </button>
      </p>
    </form>
  );
}
