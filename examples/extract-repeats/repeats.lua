-- Reflects without a model: a sentence that several memories say is worth remembering.
-- The state is the question; see "Reflection" in sdk/AUTHORING.md.

if state.task == "questions" then
  return { questions = array() } -- the host asks its own question
end

-- form is a sentence without case, punctuation and spaces at its ends.
local function form(sentence)
  return (sentence:lower():gsub("[%p%s]+", " "):gsub("^ ", ""):gsub(" $", ""))
end

local seen, order = {}, {}
for _, memory in ipairs(state.memories) do
  for sentence in memory.content:gmatch("[^.!?\n]+") do
    local key = form(sentence)
    local _, words = key:gsub("%S+", "")
    if words >= 3 then
      local s = seen[key]
      if not s then
        s = { text = sentence:match("^%s*(.-)%s*$"), sources = array() }
        seen[key] = s
        order[#order + 1] = s
      end
      if s.sources[#s.sources] ~= memory.id then -- once for each memory
        s.sources[#s.sources + 1] = memory.id
      end
    end
  end
end

table.sort(order, function(a, b)
  if #a.sources ~= #b.sources then return #a.sources > #b.sources end
  return a.text < b.text
end)

local insights = array()
for _, s in ipairs(order) do
  if #s.sources >= 2 and #insights < state.max then
    insights[#insights + 1] = { content = s.text, importance = math.min(10, 5 + #s.sources), sources = s.sources }
  end
end
return { insights = insights }
