import * as z from "zod/mini";

/** Not every model's API knows these, and they cost tokens in each call. Whoever is called checks the values, and says what is wrong. */
const LEFT_OUT = ["minimum", "maximum", "minLength", "maxLength", "maxItems", "additionalProperties"];

/** Returns a JSON Schema for models, without its dialect and without limits. */
export function jsonSchemaOf(schema: z.ZodMiniType, io: "input" | "output"): z.core.JSONSchema.BaseSchema {
  const { $schema: _, ...found } = z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema: node }) => {
      for (const keyword of LEFT_OUT) delete node[keyword];
    },
  });
  return found;
}
