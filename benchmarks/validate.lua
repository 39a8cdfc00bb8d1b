-- wrk script: POST /v1/validate with another license, and a nonce never used before, in each request.
--   wrk … -s validate.lua URL -- FILE TOKEN
-- FILE has one license a line: key, blank, install id; all of the same length.
-- Prints one JSON object at the end.

local heads, tail, at, nonce = {}, '"}', 0, 0

function init(args)
  local path, token = args[1], args[2]
  nonce = os.time() * 1000000
  for line in io.lines(path) do
    local key, install = line:match("^(%S+) (%S+)$")
    local body = '{"license_key":"' .. key .. '","install_id":"' .. install .. '","nonce":"'
    heads[#heads + 1] = "POST /v1/validate HTTP/1.1\r\nHost: " .. wrk.host .. "\r\n" ..
      "Authorization: Bearer " .. token .. "\r\nContent-Type: application/json\r\n" ..
      "Content-Length: " .. (#body + 22 + #tail) .. "\r\n\r\n" .. body
  end
end

function request()
  at = at % #heads + 1
  nonce = nonce + 1
  return heads[at] .. string.format("%022.0f", nonce) .. tail
end
