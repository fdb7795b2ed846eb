/** One field of a generated form. */
export interface FormField {
  /** Of its place in the object: `spec.project`. */
  readonly path: readonly string[];
  readonly type: "text" | "number" | "boolean" | "choice" | "list";
  readonly description: string;
  readonly options: readonly string[];
  readonly isRequired: boolean;
  readonly initial: string;
}

interface FieldProps {
  readonly field: FormField;
  readonly value: string | undefined;
  readonly onChange: (name: string, value: string) => void;
}

export function Field({ field, value = field.initial, onChange }: FieldProps) {
  const name = field.path.join(".");
  const label = field.path.slice(1).join(".");
  const options = field.type === "boolean" ? ["true", "false"] : field.options;
  const set = (event: { readonly currentTarget: { readonly value: string } }): void =>
    onChange(name, event.currentTarget.value);
  const hint = `hint-${name}`;
  return (
    <div class="field">
      <label for={`field-${name}`}>
        <span class="mono">{label}</span>
        {field.isRequired && <span class="muted"> required</span>}
      </label>
      {options.length > 0 ? (
        <select id={`field-${name}`} value={value} aria-describedby={hint} required={field.isRequired} onChange={set}>
          <option value="">-</option>
          {options.map((option) => (
            <option key={option} value={option}>
              {option}
            </option>
          ))}
        </select>
      ) : field.type === "list" ? (
        <textarea id={`field-${name}`} rows={2} value={value} aria-describedby={hint} onInput={set} />
      ) : (
        <input
          id={`field-${name}`}
          inputMode={field.type === "number" ? "decimal" : "text"}
          value={value}
          aria-describedby={hint}
          required={field.isRequired}
          autoComplete="off"
          spellcheck={false}
          onInput={set}
        />
      )}
      <small id={hint}>{field.type === "list" ? `One a line. ${field.description}` : field.description}</small>
    </div>
  );
}
