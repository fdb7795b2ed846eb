/** A text as it has to stand in the command, the arguments or the variables of a container, where Kubernetes reads `$(NAME)` and `$$`. */
export const literal = (text: string): string => text.replaceAll(/\$(?=[$(])/g, "$$$$");
